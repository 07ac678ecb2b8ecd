"""Export files: flows with their campaigns, triggers, fields and groups (flow format, export files)."""

from flows.definition.exports.model import (
    ExportedCampaign,
    ExportedEvent,
    ExportedField,
    ExportedGroup,
    ExportedTrigger,
    ExportError,
    ExportFile,
    Named,
    Needs,
    SkippedTrigger,
    list_needs,
)
from flows.definition.exports.reading import is_definition, read_export
from flows.definition.exports.selection import (
    CampaignParts,
    Dependencies,
    Renamed,
    Selection,
    WorkspaceParts,
    clean_name,
    select_parts,
)
from flows.definition.exports.updating import update_file

__all__ = ["CampaignParts", "Dependencies", "ExportError", "ExportFile", "ExportedCampaign"]
__all__ += ["ExportedEvent", "ExportedField", "ExportedGroup", "ExportedTrigger", "Named", "Needs"]
__all__ += ["Renamed", "Selection", "SkippedTrigger", "WorkspaceParts", "clean_name", "is_definition"]
__all__ += ["list_needs", "read_export", "select_parts", "update_file"]
