"""Checks the OpenAPI document by itself: that it is one, and that its examples are what their schemas say.

check_document.py DOCUMENT
"""

import sys

from openapi_spec_validator import OpenAPIV31SpecValidator

from document import Document


def faults(document):
    for fault in OpenAPIV31SpecValidator(document.value).iter_errors():
        yield f"{'/'.join(map(str, fault.absolute_path))}: {fault.message[:300]}"
    for path, method, operation in document.operations():
        where = f"{method} {path}"
        for media in media_types(document, operation):
            for name, example in media.get("examples", {}).items():
                for fault in document.faults(media["schema"], document.resolve(example)["value"]):
                    yield f"{where}, example {name}: {fault}"
        for status, response in operation["responses"].items():
            if "X-Request-Id" not in document.resolve(response).get("headers", {}):
                yield f"{where} {status}: no X-Request-Id"
    for name, schema in document.value["components"]["schemas"].items():
        for example in schema.get("examples", []):
            for fault in document.faults(schema, example):
                yield f"schema {name}: {fault}"
    used = set(references(document.value))
    for kind in ["schemas", "parameters", "headers", "responses", "examples"]:
        for name in document.value["components"][kind]:
            # What no operation answers: a path does, to the methods that it does not know.
            if f"#/components/{kind}/{name}" not in used and name != "MethodNotAllowed":
                yield f"components/{kind}/{name} is used nowhere"


def media_types(document, operation):
    for part in [operation.get("requestBody", {}), *operation["responses"].values()]:
        yield from document.resolve(part).get("content", {}).values()


def references(value):
    if isinstance(value, dict):
        for name, part in value.items():
            if name == "$ref":
                yield part
            else:
                yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def main():
    document = Document(sys.argv[1])
    found = list(faults(document))
    if found:
        sys.exit("\n".join(found))
    count = sum(1 for _ in document.operations())
    print(f"{count} operations and {len(document.value['components']['examples'])} examples are in order.")


if __name__ == "__main__":
    main()
