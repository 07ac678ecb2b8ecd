/** Which roles may do what, as the contract says (a test compares them). Pages hide what the API would refuse. */

const all = ["administrator", "editor", "viewer", "agent"];
const staff = ["administrator", "editor", "viewer"];
const helpers = ["administrator", "editor", "agent"];
const editors = ["administrator", "editor"];

export const PERMISSIONS = {
  read_workspace_figures: staff,
  list_conversations: all,
  act_on_conversations: helpers,
  list_messages: staff,
  create_message: helpers,
  act_on_messages: editors,
  list_contacts: [...all, "surveyor"],
  write_contact: helpers,
  delete_contact: editors,
  act_on_contacts: helpers,
  merge_contacts: editors,
  create_contact_note: helpers,
  list_labels: staff,
  list_flows: [...staff, "surveyor"],
  create_flow_start: editors,
  list_tickets: all,
  act_on_tickets: helpers,
  create_ticket: helpers,
  list_channels: staff,
  claim_relayer: editors,
  write_group: editors,
  list_broadcasts: staff,
  create_broadcast: editors,
  list_users: all,
  list_invitations: ["administrator"],
  create_invitation: ["administrator"],
  write_saved_reply: helpers,
  write_label: editors,
  write_topic: editors,
  write_field: editors,
  write_global: editors,
  list_globals: staff,
  list_topics: all,
  list_fields: [...all, "surveyor"],
  list_groups: [...all, "surveyor"],
  read_workspace: [...all, "surveyor"],
};
