"""Admin verbs over HTTP: who may use them, and what each does to a server with rules."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../clients"))
from redis_server import Redis  # noqa: E402
from weir_process import BINARY, Weir, read_to_end  # noqa: E402

RULES = """
rules:
- name: login
  match: {route: /login}
  key: "{user}"
  limit: 2/1h
  overrides: {vip: 9/1h, bot: blocked}
- name: tried
  match: {route: /tried}
  key: "{ip}"
  limit: 3/1h
  candidates: [1/1h]
- name: everybody
  limit: 1000000/1h
  shadow: true
"""
ENVOY = """
domain: edge
descriptors:
- key: tenant
  rate_limit: {unit: hour, requests_per_unit: 2}
"""
TOKEN = "0123456789abcdef"
FAILURES = "weir_auth_failures_total"


class Admin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rules = self.folder / "own.yaml"
        self.rules.write_text(RULES)
        (self.folder / "envoy.yaml").write_text(ENVOY)
        self.token = self.folder.parent / (self.folder.name + ".token")
        self.addCleanup(self.token.unlink)
        self.write_token(TOKEN)
        self.weir = self.server()

    def write_token(self, text, mode=0o600):
        self.token.touch(mode=mode)
        self.token.chmod(mode)
        self.token.write_text(text + "\n")

    def server(self, *arguments):
        weir = Weir("--rules", str(self.folder), "--admin-token", str(self.token), "--threads",
                    "2", *arguments)
        self.addCleanup(weir.stop)
        return weir

    def ask(self, method, path, body=None, headers=None, token=TOKEN):
        client = http.client.HTTPConnection("127.0.0.1", self.weir.ports["http"], timeout=10)
        sent = {"Authorization": "Bearer " + token} if token else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
        client.request(method, path, None if body is None else json.dumps(body),
                       {**sent, **(headers or {})})
        answer = client.getresponse()
        content = answer.read()
        client.close()
        return answer, json.loads(content) if content else None

    def get(self, path):
        answer, content = self.ask("GET", path)
        self.assertEqual(answer.status, 200, content)
        return content

    def post(self, path, body=None, status=200):
        answer, content = self.ask("POST", path, body)
        self.assertEqual(answer.status, status, content)
        return content

    def forward(self, uri, **fields):
        """The status of a call at a proxy's place."""
        answer, _ = self.ask("GET", "/v1/forward?domain=default", token=None, headers={
            "X-Forwarded-Uri": uri, "X-Forwarded-Method": "GET", **fields})
        return answer.status

    def standing(self, rule, **call):
        met = {each["rule"]: each for each in
               self.post("/v1/admin/peek", {"domain": "default", **call})["rules"]}
        return met.get(rule)


class WhoMay(Admin):
    def test_nobody_without_a_token_file_and_is_told_how(self):
        self.weir.stop()
        self.weir = Weir("--rules", str(self.folder))
        self.addCleanup(self.weir.stop)
        for method, path in (("GET", "rules"), ("GET", "top"), ("POST", "peek"),
                             ("POST", "reset"), ("POST", "reload")):
            answer, content = self.ask(method, "/v1/admin/" + path)
            self.assertEqual(answer.status, 404)
            self.assertIn("--admin-token FILE", content["detail"])

    def test_who_shows_no_token_or_another_is_refused_counted_and_disconnected(self):
        answer, _ = self.ask("GET", "/v1/admin/rules", token=None)
        self.assertEqual(answer.status, 401)
        self.assertEqual(self.weir.metric(FAILURES), 0)
        wrong = ("x", TOKEN[:-1], TOKEN + "0", " " + TOKEN, TOKEN.upper())
        for token in wrong:
            answer, content = self.ask("GET", "/v1/admin/rules", token=token)
            self.assertEqual(answer.status, 401)
            self.assertEqual(answer.headers["WWW-Authenticate"], 'Bearer realm="weir admin"')
            self.assertNotIn("rules", content)
        answer, _ = self.ask("GET", "/v1/admin/top", token=None,
                             headers={"Authorization": "Basic " + TOKEN})
        self.assertEqual(answer.status, 401)
        self.assertEqual(self.weir.metric(FAILURES), len(wrong) + 1)
        guess = b"GET /v1/admin/top HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
        with self.weir.connect("http") as connection:
            connection.sendall(guess % b"a" + guess % TOKEN.encode())
            answers = read_to_end(connection)
        self.assertEqual(answers.count(b"HTTP/1.1 "), 1)
        self.assertTrue(answers.startswith(b"HTTP/1.1 401"))

    def test_sighup_reads_the_token_again(self):
        self.write_token("another")
        self.weir.process.send_signal(signal.SIGHUP)
        read = 'weir_config_load_total{what="admin_token",result="ok"}'
        self.weir.eventually(lambda: self.weir.metric(read) == 1)
        self.assertEqual(self.ask("GET", "/v1/admin/top")[0].status, 401)
        self.assertEqual(self.ask("GET", "/v1/admin/top", token="another")[0].status, 200)

    def test_a_token_file_is_held_to_what_a_passwords_is(self):
        self.write_token("")
        done = subprocess.run([BINARY, "serve", "--resp", "127.0.0.1:0", "--metrics", "off",
                               "--grpc", "off", "--http", "127.0.0.1:0", "--admin-token",
                               str(self.token)], capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--admin-token: ", done.stderr)
        self.write_token(TOKEN, mode=0o644)
        weir = self.server()
        weir.stop()
        self.assertIn("everybody can read a secret", weir.errors)

    def test_what_changes_something_is_in_the_log_without_its_key(self):
        self.post("/v1/admin/reset", {"key": "wilma", "limit": "5/1m"})
        self.get("/v1/admin/rules")
        self.weir.stop()
        self.assertEqual(self.weir.errors.count("asked by an operator"), 1)
        self.assertIn("path=/v1/admin/reset", self.weir.errors)
        self.assertNotIn("wilma", self.weir.errors)
        self.assertNotIn(TOKEN, self.weir.errors)


class Rules(Admin):
    def test_are_listed_as_they_are_in_force(self):
        listed = self.get("/v1/admin/rules")
        self.assertEqual((listed["generation"], listed["total"]), (1, 4))
        by_name = {(each["domain"], each["rule"]): each for each in listed["rules"]}
        self.assertEqual(by_name["default", "login"],
                         {"domain": "default", "rule": "login", "line": 3, "limit": "2/1h",
                          "key": "{user}", "overrides": 2, "shadow": False})
        self.assertTrue(by_name["default", "everybody"]["shadow"])
        self.assertIn(("edge", "tenant"), by_name)

    def test_are_listed_a_page_at_a_time(self):
        self.assertEqual([each["rule"] for each in
                          self.get("/v1/admin/rules?domain=default&from=1&count=1")["rules"]],
                         ["tried"])
        self.assertEqual(self.get("/v1/admin/rules?domain=default")["total"], 3)
        self.assertEqual(self.get("/v1/admin/rules?from=99")["rules"], [])
        for query in ("count=0", "count=1001", "from=-1", "from=x", "nonsense=1"):
            answer, content = self.ask("GET", "/v1/admin/rules?" + query)
            self.assertEqual(answer.status, 400)
            self.assertIn("query: ", content["detail"])


class Peek(Admin):
    def test_tells_rules_keys_and_standing_and_counts_nothing(self):
        call = {"domain": "default", "method": "GET", "uri": "/login?x=1", "user": "alice"}
        for _ in range(5):
            told = self.post("/v1/admin/peek", call)
        self.assertEqual((told["generation"], told["domain"], told["allowed"]),
                         (1, "default", True))
        login, everybody = sorted(told["rules"], key=lambda each: each["line"])
        self.assertEqual({name: login[name] for name in
                          ("rule", "line", "key", "quota", "overridden", "refuses", "verdict",
                           "limit", "remaining")},
                         {"rule": "login", "line": 3, "key": "alice", "quota": "2/1h",
                          "overridden": False, "refuses": False, "verdict": "granted",
                          "limit": 2, "remaining": 2})
        self.assertTrue(everybody["shadow"])
        self.assertEqual(self.weir.metric("weir_keys"), 0)

    def test_sees_what_calls_have_used(self):
        self.assertEqual([self.forward("/tried", **{"X-Forwarded-For": "192.0.2.1"})
                          for _ in range(4)], [200, 200, 200, 429])
        standing = self.standing("tried", uri="/tried", ip="192.0.2.1")
        self.assertEqual((standing["key"], standing["verdict"], standing["refuses"]),
                         ("192.0.2.1", "denied", True))
        self.assertFalse(self.standing("tried", uri="/tried", ip="192.0.2.2")["refuses"])

    def test_knows_overrides_headers_and_descriptors(self):
        self.assertEqual(self.standing("login", uri="/login", user="vip")["quota"], "9/1h")
        blocked = self.standing("login", uri="/login", user="bot")
        self.assertEqual((blocked["quota"], blocked["refuses"], blocked["overridden"]),
                         ("blocked", True, True))
        self.assertIsNone(self.standing("login", uri="/elsewhere", user="vip"))
        met = self.post("/v1/admin/peek", {"domain": "edge", "entries": [
            {"key": "tenant", "value": "t=1"}]})["rules"]
        self.assertEqual([(each["rule"], each["key"]) for each in met],
                         [("tenant", "tenant=t%3D1")])

    def test_says_what_is_wrong_with_a_call(self):
        for body, status, expected in (
                ({}, 200, None),
                ({"domain": "nowhere"}, 404, "there is no domain 'nowhere'"),
                ({"domain": "default", "ip": "1.2.3"}, 400, "/ip: expected"),
                ({"domain": "default", "uri": 5}, 400, "/uri: expected"),
                ({"domain": "default", "cost": 5}, 400, "/cost: expected"),
                ({"domain": "default", "headers": [{"name": "a"}] * 65}, 400,
                 "/headers: expected"),
                ({"domain": "default", "entries": [{"value": "a"}]}, 400, "/entries/0: expected"),
                ([], 400, "expected")):
            content = self.post("/v1/admin/peek", body, status)
            if expected:
                self.assertIn(expected, content["detail"])


class Reset(Admin):
    def test_forgets_a_key_of_a_rule_and_of_its_candidates(self):
        field = {"X-Forwarded-For": "192.0.2.1"}
        self.assertEqual([self.forward("/tried", **field) for _ in range(4)],
                         [200, 200, 200, 429])
        rule = {"domain": "default", "rule": "tried", "key": "192.0.2.1"}
        self.assertEqual(self.post("/v1/admin/reset", rule), {"forgotten": 2})
        self.assertEqual(self.post("/v1/admin/reset", rule), {"forgotten": 0})
        self.assertEqual(self.forward("/tried", **field), 200)

    def test_forgets_a_key_of_a_limit(self):
        take = {"key": "alice", "limit": "1/1h"}
        self.assertEqual([self.ask("POST", "/v1/take", take)[0].status for _ in range(2)],
                         [200, 429])
        self.assertEqual(self.post("/v1/admin/reset", take), {"forgotten": 1})
        self.assertEqual(self.ask("POST", "/v1/take", take)[0].status, 200)

    def test_says_what_is_wrong(self):
        for body, status, expected in (
                ({"domain": "default", "key": "a", "rule": "nobody"}, 404, "/rule: "),
                ({"key": "a", "rule": "login"}, 200, None),
                ({"domain": "edge", "key": "a"}, 400, "a key and a rule"),
                ({"domain": "default", "rule": "login"}, 400, "a key and a rule"),
                ({"key": "a", "limit": "5/"}, 400, "/limit: column"),
                ({"key": "a", "limit": "5/1m", "rule": "login"}, 400, "not both"),
                ({"key": "a" * 1025, "limit": "5/1m"}, 400, "/key: expected at most 1024"),
                ({"domain": "default", "rule": "login", "key": "bot"}, 200, None)):
            content = self.post("/v1/admin/reset", body, status)
            if expected:
                self.assertIn(expected, content["detail"])


class Top(Admin):
    def test_has_the_keys_of_limits_and_of_rules(self):
        for _ in range(60):
            self.forward("/tried", **{"X-Forwarded-For": "192.0.2.9"})
            self.ask("POST", "/v1/take", {"key": "hot\u00e9" + "x" * 80, "limit": "1/1h"})
        self.weir.eventually(lambda: len(self.get("/v1/admin/top?count=9")["hottest"]) >= 3)
        top = self.get("/v1/admin/top?count=9")
        hottest = {(each["limit"], each["key"]): each for each in top["hottest"]}
        self.assertIn(("@default/tried", "192.0.2.9"), hottest)
        refused = {each["key"]: each for each in top["most_refused"]}
        key = "hot\u00e9" + "x" * 59
        self.assertEqual(refused[key]["key_bytes"], 85)
        self.assertGreater(refused[key]["calls_per_s"], 0)
        self.assertEqual(len(self.get("/v1/admin/top?count=1")["hottest"]), 1)
        self.assertNotIn("192.0.2.9", self.weir.metrics())

    def test_shows_bytes_that_are_no_text_as_text(self):
        with self.weir.connect() as resp:
            for _ in range(40):
                resp.sendall(b"*3\r\n$9\r\nWEIR.TAKE\r\n$4\r\na\xff\xc3b\r\n$4\r\n9/1h\r\n")
                resp.recv(4096)
            self.weir.eventually(lambda: [
                each["key"] for each in self.get("/v1/admin/top")["hottest"]] == ["a\ufffd\ufffdb"])

    def test_count_has_bounds(self):
        for query in ("count=0", "count=129", "count=", "k=3"):
            self.assertEqual(self.ask("GET", "/v1/admin/top?" + query)[0].status, 400)


class Reload(Admin):
    def test_puts_new_rules_in_force_before_it_answers(self):
        self.rules.write_text(RULES.replace("limit: 2/1h", "limit: 7/1h"))
        told = self.post("/v1/admin/reload")
        self.assertEqual(told, {"generation": 2, "reloaded": ["admin token", "rules"]})
        for _ in range(8):  # whichever thread answers
            self.assertEqual(self.standing("login", uri="/login", user="a")["quota"], "7/1h")

    def test_names_the_place_of_an_error_and_keeps_what_was_good(self):
        self.rules.write_text(RULES + "- name: worse\n  limt: 5/1m\n")
        told = self.post("/v1/admin/reload", status=422)
        line = RULES.count("\n") + 2
        self.assertRegex(told["detail"],
                         rf"^kept rules: .*own\.yaml:{line}:\d+: .*limt.*did you mean")
        self.assertEqual(self.get("/v1/admin/rules")["generation"], 1)
        self.assertEqual(self.readiness().splitlines()[1],
                         "[-] rules: the last file was no good, what was before counts; "
                         "the log says why")
        self.rules.write_text(RULES)
        self.assertEqual(self.post("/v1/admin/reload")["generation"], 2)
        self.assertEqual(self.readiness(), "[+] serving\nready\n")

    def readiness(self):
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.weir.ports['http']}/readyz?verbose", timeout=10) as answer:
            return answer.read().decode()

    def test_is_answered_while_others_ask_for_the_same(self):
        request = (f"POST /v1/admin/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
                   f"Authorization: Bearer {TOKEN}\r\n\r\n").encode()
        connections = [self.weir.connect("http") for _ in range(8)]
        for connection in connections:
            connection.sendall(request * 4)
        generations = []
        for connection in connections:
            connection.shutdown(1)
            answers = read_to_end(connection).split(b"HTTP/1.1 ")[1:]
            self.assertEqual([each[:3] for each in answers], [b"200"] * 4)
            generations += [json.loads(each.split(b"\r\n\r\n")[1])["generation"]
                            for each in answers]
            connection.close()
        self.assertEqual(sorted(generations), list(range(2, 34)))


class Override(Admin):
    OF = {"domain": "default", "rule": "login", "key": "alice"}

    def quota(self, user="alice"):
        return self.standing("login", uri="/login", user=user)["quota"]

    def listed(self):
        return self.get("/v1/admin/override")["overrides"]

    def set(self, limit, status=200, **more):
        return self.post("/v1/admin/override", {**self.OF, "limit": limit, **more}, status)

    def test_gives_one_key_another_limit_and_takes_it_back(self):
        self.assertEqual(self.set("5/1h"), {"generation": 2, "overrides": 1})
        for _ in range(8):  # whichever thread answers
            self.assertEqual(self.quota(), "5/1h")
        self.assertEqual(self.quota("bob"), "2/1h")
        self.assertEqual(self.listed(), [{**self.OF, "limit": "5/1h"}])
        self.assertEqual(self.set("unlimited"), {"generation": 3, "overrides": 1})
        self.assertEqual(self.quota(), "unlimited")
        self.assertEqual(self.set(None), {"generation": 4, "overrides": 0})
        self.assertEqual((self.quota(), self.listed()), ("2/1h", []))
        self.assertIn("no override", self.set(None, status=422)["detail"])

    def test_lies_over_that_of_the_file_and_outlives_a_reload(self):
        for key, limit in (("vip", "blocked"), ("alice", "5/1h")):
            self.set(limit, key=key)
        self.rules.write_text(RULES.replace("vip: 9/1h", "vip: 8/1h"))
        self.post("/v1/admin/reload")
        self.assertEqual((self.quota("vip"), self.quota()), ("blocked", "5/1h"))
        self.set(None, key="vip")
        self.assertEqual(self.quota("vip"), "8/1h")
        self.rules.write_text(RULES.replace("name: login", "name: other"))
        self.post("/v1/admin/reload")
        self.assertEqual(self.listed(), [])
        self.rules.write_text(RULES)
        self.post("/v1/admin/reload")
        self.assertEqual(self.quota(), "2/1h")

    def test_is_known_on_where_a_reload_fails(self):
        self.set("blocked")
        self.rules.write_text(RULES.replace("name: login", "name: other"))
        bad = self.rules.with_name("envoy.yaml")  # in order, but for the names of its states
        bad.write_text("{domain: z, descriptors: [{key: " + "k" * 3000 +
                       ", rate_limit: {unit: day, requests_per_unit: 1}}]}")
        self.post("/v1/admin/reload", status=422)
        self.assertEqual(self.quota(), "blocked")
        self.assertEqual(self.listed(), [{**self.OF, "limit": "blocked"}])
        bad.unlink()
        self.rules.write_text(RULES)
        self.set(None)
        self.assertEqual(self.quota(), "2/1h")

    def test_tells_no_instants_of_what_is_blocked(self):
        self.set("blocked")
        standing = self.standing("login", uri="/login", user="alice")
        self.assertEqual((standing["refuses"], standing["verdict"]), (True, "impossible"))
        self.assertNotIn("reset_after_us", standing)

    def test_ends_when_its_time_is_over(self):
        self.set("blocked", **{"for": "1s"})
        self.assertEqual(self.quota(), "blocked")
        self.assertEqual(self.listed(), [{**self.OF, "limit": "blocked", "ends_in": 1}])
        self.weir.eventually(lambda: self.quota() == "2/1h")
        self.assertEqual(self.listed(), [])

    def test_there_are_a_thousand_at_most(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.weir.ports["http"], timeout=10)

        def set_one(number):
            body = json.dumps({**self.OF, "key": f"k{number}", "limit": "5/1h"})
            connection.request("POST", "/v1/admin/override", body, {
                "Content-Type": "application/json", "Authorization": "Bearer " + TOKEN})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        for number in range(1000):
            status, content = set_one(number)
            self.assertEqual((status, content["overrides"]), (200, number + 1))
        status, content = set_one(1000)
        self.assertEqual(status, 422)
        self.assertIn("1000 overrides", content["detail"])
        self.assertEqual(set_one(7)[0], 200)
        connection.close()

    def test_says_what_is_wrong(self):
        for body, status, expected in (
                ({**self.OF}, 400, "a limit"),
                ({**self.OF, "limit": "5/"}, 400, "/limit: column 3"),
                ({**self.OF, "limit": 5}, 400, "/limit: expected"),
                ({**self.OF, "limit": "5/1m", "for": "0s"}, 400, "/for: expected"),
                ({**self.OF, "limit": "5/1m", "rule": "nobody"}, 404, "/rule: "),
                ({**self.OF, "limit": "5/1m", "key": "k" * 1025}, 400, "/key: expected"),
                ({"domain": "edge", "rule": "tenant", "key": "tenant=a", "limit": "5/1m"}, 400,
                 "have no overrides")):
            self.assertIn(expected, self.post("/v1/admin/override", body, status)["detail"])
        self.assertEqual(self.get("/v1/admin/rules")["generation"], 1)


@unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
class InAStore(Admin):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.end)
        super().setUp()

    def server(self, *arguments):
        return super().server("--store", f"redis://127.0.0.1:{self.redis.port}",
                              "--store-deadline", "5s", *arguments)

    def test_peek_and_reset_are_of_its_states(self):
        field = {"X-Forwarded-For": "192.0.2.1"}
        self.assertEqual([self.forward("/tried", **field) for _ in range(4)],
                         [200, 200, 200, 429])
        self.assertTrue(self.standing("tried", uri="/tried", ip="192.0.2.1")["refuses"])
        rule = {"domain": "default", "rule": "tried", "key": "192.0.2.1"}
        self.assertEqual(self.post("/v1/admin/reset", rule), {"forgotten": 2})
        self.assertEqual(self.forward("/tried", **field), 200)

    def test_peek_of_several_rules_tells_no_time_before_now(self):
        self.rules.write_text("rules:\n- {name: a, limit: 5/1m}\n- {name: b, limit: 3/1m}\n")
        self.post("/v1/admin/reload")
        for _ in range(20):
            for rule in self.post("/v1/admin/peek", {"uri": "/"})["rules"]:
                self.assertGreaterEqual(min(rule["ready_after_us"], rule["reset_after_us"]), 0)

    def test_reset_says_that_it_is_gone(self):
        self.redis.kill()
        told = self.post("/v1/admin/reset", {"key": "a", "limit": "5/1m"}, status=503)
        self.assertIn("store", told["detail"])


class Pages(Admin):
    def test_in_a_browser_may_not_ask(self):
        take = {"key": "page", "limit": "5/1m"}
        check = "/v1/check?" + urllib.parse.urlencode(take)
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"},
                        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-origin"}):
            for method, path, body in (("POST", "/v1/take", take), ("POST", "/v1/peek", take),
                                       ("POST", "/json", {}), ("GET", check, None),
                                       ("HEAD", check, None), ("GET", "/v1/admin/rules", None),
                                       ("POST", "/v1/admin/reset", take)):
                answer, _ = self.ask(method, path, body, headers)
                self.assertEqual(answer.status, 403, (method, path, headers))
        self.assertEqual(self.weir.metric("weir_keys"), 0)
        with self.weir.connect("http") as typed:
            typed.sendall(f"GET {check} HTTP/1.0\r\nSec-Fetch-Site: none\r\n\r\n".encode())
            self.assertTrue(read_to_end(typed).startswith(b"HTTP/1.1 200"))

    def test_that_a_proxy_forwards_may_have_an_origin(self):
        self.assertEqual(self.forward("/", Origin="https://shop.example",
                                      **{"Sec-Fetch-Site": "cross-site"}), 200)

    def test_cannot_say_that_a_body_is_json(self):
        take = {"key": "page", "limit": "5/1m"}
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", "",
                     "multipart/form-data; boundary=application/json"):
            for path in ("/v1/take", "/v1/peek", "/json", "/v1/admin/peek"):
                answer, content = self.ask("POST", path, take, {"Content-Type": kind})
                self.assertEqual(answer.status, 415, (path, kind))
                self.assertIn("application/json", content["detail"])
        for kind in ("application/json", "Application/JSON ; charset=utf-8"):
            answer, _ = self.ask("POST", "/v1/take", take, {"Content-Type": kind})
            self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
