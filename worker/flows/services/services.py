"""The services of the engine: webhooks, e-mail, airtime, language models, classifiers, and the check whether a URN is
free."""

from collections.abc import Callable, Sequence

from flows.engine.services import Services
from flows.urns import Urn
from persistence.contacts.owners import find_owners
from persistence.database import Database
from persistence.workspaces import Workspace
from worker.flows.services.airtime import FlowAirtime
from worker.flows.services.classifiers import FlowClassifier
from worker.flows.services.email import FlowEmail
from worker.flows.services.json_services import JsonService
from worker.flows.services.language_models import FlowLanguageModel
from worker.flows.services.webhooks import FlowWebhooks, list_delays_seconds
from worker.runtime import Runtime


class UrnClaims:
    """Tells which URNs are free in a workspace; they are assigned when the sprint is recorded."""

    def __init__(self, database: Database, workspace_id: int) -> None:
        self._database = database
        self._workspace_id = workspace_id

    def claim(self, contact_uuid: str, urn: Urn) -> bool:
        """Whether no other contact has this URN."""
        with self._database.reading() as tx:
            owner = find_owners(tx, self._workspace_id, [urn]).get(urn.identity)
        return owner is None or owner.uuid == contact_uuid


def open_outside(runtime: Runtime, workspace: Workspace, before_call: Callable[[], None]) -> Services:
    """The engine's services for sprints of one workspace; `before_call` is called before anything slow."""
    settings = runtime.settings

    def find_service(name: str, url: str, key: str, delays_seconds: Sequence[float] = ()) -> JsonService | None:
        return JsonService(name, url, key, runtime, before_call, delays_seconds) if url else None

    model = find_service("the language model", settings.llm_url, settings.llm_key)
    classifier = find_service("the classifier", settings.classifier_url, settings.classifier_key)
    # A transfer has an idempotency key, so repeating the request is safe.
    airtime = find_service(
        "the airtime service", settings.airtime_url, settings.airtime_key, list_delays_seconds(runtime)
    )
    mail_server = settings.smtp_url
    return Services(
        webhook=FlowWebhooks(runtime, before_call, workspace.id),
        email=None if mail_server is None else FlowEmail(runtime, mail_server, before_call),
        classifier=None if classifier is None else FlowClassifier(classifier),
        llm=None if model is None else FlowLanguageModel(model, settings.llm_model),
        airtime=None if airtime is None else FlowAirtime(airtime),
        urns=UrnClaims(runtime.database, workspace.id),
    )
