"""The expression language of flows: `Hi @contact.first_name, you are @(fields.age + 1)` (flow format, expressions)."""
