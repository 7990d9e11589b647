"""The OpenAPI document, and what it says about answers."""

import json
import re

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

ROOT = "urn:document"


class Document:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.value = json.load(file)
        resource = referencing.Resource(contents=self.value, specification=DRAFT202012)
        self.registry = referencing.Registry().with_resource(ROOT, resource)

    def resolve(self, value):
        """Follows a reference into the document."""
        while "$ref" in value:
            place = self.value
            for part in value["$ref"].removeprefix("#/").split("/"):
                place = place[part.replace("~1", "/").replace("~0", "~")]
            value = place
        return value

    def operations(self):
        """Every (path, method, operation)."""
        for path, methods in self.value["paths"].items():
            for method, operation in methods.items():
                yield path, method.upper(), operation

    def operation(self, method, path):
        """The operation that a request is of; paths without an id come first."""
        path = path.split("?")[0]
        for template in sorted(self.value["paths"], key=lambda known: known.count("{")):
            if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), path):
                return self.value["paths"][template].get(method.lower())
        return None

    def validator(self, schema):
        """A validator of a schema of the document, whose references lead into it."""
        return jsonschema.Draft202012Validator(
            absolute(schema), registry=self.registry, format_checker=jsonschema.FormatChecker())

    def faults(self, schema, value):
        for fault in self.validator(schema).iter_errors(value):
            place = "/".join(map(str, fault.absolute_path))
            yield f"/{place}: {(fault.context or [fault])[0].message[:300]}"

    def faults_of_answer(self, method, path, status, headers, kind, value):
        """What an answer does that the document does not say."""
        operation = self.operation(method, path)
        if operation is None:
            yield "there is no such operation"
            return
        if str(status) not in operation["responses"]:
            yield "the status is not documented"
            return
        response = self.resolve(operation["responses"][str(status)])
        for name, header in response.get("headers", {}).items():
            if self.resolve(header).get("required") and name not in headers:
                yield f"there is no {name}"
        content = response.get("content", {})
        if not content:
            return
        if kind not in content:
            yield f"{kind} is not documented"
        elif value is not None:
            yield from self.faults(content[kind]["schema"], value)
            yield from self.undocumented(content[kind]["schema"], value)

    def undocumented(self, schema, value, place=""):
        """The members of a value that its schema does not name.

        Apps have to ignore such members, so the schemas permit them; the server has no reason to send any.
        """
        known, items, is_open = {}, None, False
        for part in self.parts(schema, value):
            known.update(part.get("properties", {}))
            items = part.get("items", items)
            is_open = is_open or part.get("type") in ("object", ["object", "null"]) and "properties" not in part
        if isinstance(value, dict) and known and not is_open:
            for name, member in value.items():
                if name in known:
                    yield from self.undocumented(known[name], member, f"{place}/{name}")
                else:
                    yield f"{place}/{name}: this member is not documented"
        elif isinstance(value, list) and items:
            for index, item in enumerate(value):
                yield from self.undocumented(items, item, f"{place}/{index}")

    def parts(self, schema, value):
        """The schemas that apply to a value: a schema, what it refers to, and the alternatives that fit."""
        if "$ref" in schema:
            yield from self.parts(self.resolve(schema), value)
        yield schema
        for part in schema.get("allOf", []):
            yield from self.parts(part, value)
        for part in schema.get("oneOf", []) + schema.get("anyOf", []):
            if self.validator(part).is_valid(value):
                yield from self.parts(part, value)


def absolute(schema):
    """The schema with references that name the document they lead into."""
    if isinstance(schema, dict):
        return {name: ROOT + part if name == "$ref" else absolute(part) for name, part in schema.items()}
    if isinstance(schema, list):
        return [absolute(part) for part in schema]
    return schema
