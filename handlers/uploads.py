"""Files in multipart requests."""

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from handlers.calls import Upload
from persistence.errors import InvalidInput, Refused

PART = "file"


async def read_upload(request: Request) -> Upload:
    """The one file of the request, read into memory (the guard limits its size).

    Raises InvalidInput when the part is missing, Refused when the body is no multipart form.
    """
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            part = form.get(PART)
            if not isinstance(part, UploadFile):
                raise InvalidInput.on(PART, "A value is required.")
            content = await part.read()
            return Upload(part.filename or "", (part.content_type or "").split(";")[0].strip().lower(), content)
    except (MultiPartException, HTTPException) as error:
        raise Refused("The request body is not a valid multipart form.") from error
