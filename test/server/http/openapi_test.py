"""Each path and method of docs/openapi.yaml answers as it says there, and no other path does."""

import http.client
import json
import os
import pathlib
import sys
import tempfile
import unittest
import urllib.parse

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../clients"))
from weir_process import Weir  # noqa: E402

PAGE = yaml.safe_load(
    (pathlib.Path(__file__).resolve().parents[3] / "docs/openapi.yaml").read_text("utf-8"))
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
TYPES = {"integer": int, "number": (int, float), "string": str, "boolean": bool, "array": list,
         "object": dict}


def resolved(schema):
    if "$ref" not in schema:
        return schema
    found = PAGE
    for step in schema["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        token = pathlib.Path(folder.name, "token")
        token.touch(mode=0o600)
        token.write_text("secret")
        cls.weir = Weir("--rate", "1M/1s per ip", "--admin-token", str(token))
        cls.addClassCleanup(cls.weir.stop)

    def ask(self, method, target, body=None, token="secret"):
        fields = {"Authorization": "Bearer " + token} if "/admin/" in target else {}
        if body:
            fields["Content-Type"] = "application/json"
        client = http.client.HTTPConnection("127.0.0.1", self.weir.ports["http"], timeout=10)
        client.request(method.upper(), target, body, fields)
        answer = client.getresponse()
        content = answer.read()
        client.close()
        return answer, content

    def check(self, value, schema):
        schema = resolved(schema)
        if "type" in schema:
            self.assertIsInstance(value, TYPES[schema["type"]])
        if "enum" in schema:
            self.assertIn(value, schema["enum"])
        if isinstance(value, dict):
            for name in schema.get("required", ()):
                self.assertIn(name, value)
            for name, member in value.items():
                self.assertIn(name, schema["properties"])
                self.check(member, schema["properties"][name])

    def check_answer(self, operation, answer, content):
        said = operation["responses"][str(answer.status)]
        if "content" not in said:
            return self.assertEqual(content, b"")
        kind = answer.headers.get_content_type()
        self.assertIn(kind, said["content"])
        if kind.endswith("json"):
            self.check(json.loads(content), said["content"][kind]["schema"])
        for name, field in said.get("headers", {}).items():
            if name in answer.headers and field["schema"]["type"] == "integer":
                int(answer.headers[name])

    def test_every_operation_answers_its_example(self):
        for path, operations in PAGE["paths"].items():
            for method, operation in operations.items():
                with self.subTest(f"{method} {path}"):
                    query = urllib.parse.urlencode({
                        each["name"]: each["example"] for each in operation.get("parameters", ())
                        if each["in"] == "query"})
                    body = operation.get("requestBody", {"content": {}})["content"]
                    example = body.get("application/json", {}).get("example")
                    answer, content = self.ask(method, path + ("?" + query if query else ""),
                                               example and json.dumps(example))
                    self.assertEqual(answer.status, 200)
                    self.check_answer(operation, answer, content)

    def test_refusals_and_errors_are_those_of_the_page(self):
        take = PAGE["paths"]["/v1/take"]["post"]
        for body, status in (({"key": "o", "limit": "1/1h"}, 200),
                             ({"key": "o", "limit": "1/1h"}, 429),
                             ({"key": "o", "limit": "1/1h", "cost": 2}, 429),
                             ({"all": [{"key": "p", "limit": "1/1h"}], "patience": "0s"}, 200),
                             ({"key": "o"}, 400)):
            answer, content = self.ask("post", "/v1/take", json.dumps(body))
            self.assertEqual(answer.status, status)
            self.check_answer(take, answer, content)
        answer, content = self.ask("get", "/v1/check")
        self.assertEqual(answer.status, 400)
        self.check_answer(PAGE["paths"]["/v1/check"]["get"], answer, content)

    def test_admin_verbs_are_those_that_need_a_token(self):
        for path, operations in PAGE["paths"].items():
            for method, operation in operations.items():
                self.assertEqual("security" in operation, path.startswith("/v1/admin/"))
                if "security" in operation:
                    answer, content = self.ask(method, path, token="wrong")
                    self.assertEqual(answer.status, 401)
                    self.check_answer(operation, answer, content)

    def test_bodies_that_are_not_called_json_are_refused_as_the_page_says(self):
        for path, operations in PAGE["paths"].items():
            operation = operations.get("post", {})
            if "requestBody" not in operation or path.startswith("/v1/admin/"):
                continue
            client = http.client.HTTPConnection("127.0.0.1", self.weir.ports["http"], timeout=10)
            for fields, status in (({"Content-Type": "text/plain"}, 415),
                                   ({"Origin": "https://page.example"}, 403)):
                client.request("POST", path, "{}", fields)
                answer = client.getresponse()
                self.assertEqual(answer.status, status)
                self.check_answer(operation, answer, answer.read())
            client.close()

    def test_the_server_has_no_other_paths(self):
        _, content = self.ask("get", "/")
        here = json.loads(content)["detail"].removeprefix("here are ").split(", ")
        said = []
        for path, operations in PAGE["paths"].items():
            methods = ["*"] if METHODS == set(operations) else operations
            said += [f"{method.upper()} {path}" for method in methods]
        self.assertEqual(sorted(here), sorted(said))


if __name__ == "__main__":
    unittest.main(verbosity=2)
