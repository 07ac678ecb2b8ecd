"""`/api/v2/archives.json`."""

from handlers.answers import ListAnswer, with_link
from persistence.archives.archives import ARCHIVES

list_archives = ListAnswer(ARCHIVES, show=with_link("download_url"))
