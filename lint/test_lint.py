"""For each rule: text that passes, and text that does not."""

import unittest

import lint
import rules


def messages(rule, path, text):
    return [f"{finding.line}: {finding.message}" for finding in rule(path, text)]


class RuleCase(unittest.TestCase):
    def passes(self, rule, path, text):
        self.assertEqual(messages(rule, path, text), [])

    def fails(self, rule, path, text, line, word):
        found = messages(rule, path, text)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{line}: "), found)
        self.assertIn(word, found[0])


class IncludeArrows(RuleCase):
    def test_an_arrow_of_the_drawing_passes(self):
        self.passes(rules.include_arrows, "include/weir/local/locked.hpp",
                    '#include <mutex>\n#include "weir/algorithm/gcra.hpp"\n')
        self.passes(rules.include_arrows, "src/server/session.cpp",
                    '#include <boost/asio.hpp>\n#include <sys/epoll.h>\n'
                    '#include "server/session.hpp"\n#include "wire/resp_reply.hpp"\n')

    def test_an_arrow_against_it_fails(self):
        self.fails(rules.include_arrows, "include/weir/algorithm/gcra.hpp",
                   '#pragma once\n#include "weir/local/clock.hpp"\n', 2,
                   "algorithm may not include local")
        self.fails(rules.include_arrows, "src/wire/resp_reply.cpp",
                   '#include "server/session.hpp"\n', 1, "wire may not include server")
        self.fails(rules.include_arrows, "src/module/reply.cpp",
                   '#include "weir/local/keyed.hpp"\n', 1, "module may not include local")

    def test_a_library_or_the_system_below_the_server_fails(self):
        self.fails(rules.include_arrows, "src/wire/resp_reply.cpp", "#include <fmt/format.h>\n", 1,
                   "<fmt/format.h>")
        self.fails(rules.include_arrows, "src/limit/parser.cpp", "#include <unistd.h>\n", 1,
                   "standard library alone")

    def test_the_time_stamp_counter_is_for_local_alone(self):
        self.passes(rules.include_arrows, "src/local/clock.cpp", "#include <x86intrin.h>\n")
        self.fails(rules.include_arrows, "src/wire/clock.cpp", "#include <x86intrin.h>\n", 1,
                   "standard library alone")

    def test_asio_is_for_one_header_of_local_alone(self):
        self.passes(rules.include_arrows, "include/weir/local/asio_operation.hpp",
                    "#include <asio/post.hpp>\n#include <boost/asio/post.hpp>\n")
        self.fails(rules.include_arrows, "include/weir/local/asio_operation.hpp",
                   "#include <boost/json.hpp>\n", 1, "standard library alone")
        self.fails(rules.include_arrows, "include/weir/local/limiter.hpp",
                   "#include <boost/asio/post.hpp>\n", 1, "standard library alone")

    def test_a_path_that_starts_nowhere_fails(self):
        self.fails(rules.include_arrows, "src/wire/resp_reply.cpp",
                   '#include "resp_reply.hpp"\n', 1, "write the path from")
        self.fails(rules.include_arrows, "src/wire/resp_reply.cpp",
                   '#include "test/wire/frames.hpp"\n', 1, "write the path from")

    def test_a_test_may_include_every_part_and_library(self):
        self.passes(rules.include_arrows, "test/wire/resp_test.cpp",
                    '#include <gtest/gtest.h>\n#include "server/session.hpp"\n'
                    '#include "test/wire/frames.hpp"\n#include "weir/limit.hpp"\n')

    def test_a_folder_without_a_row_fails(self):
        self.fails(rules.include_arrows, "src/gossip/peer.cpp", "", 1, "no row in MAY_INCLUDE")

    def test_the_arrows_have_no_circle(self):
        def below(part, path=()):
            self.assertNotIn(part, path)
            for lower in rules.MAY_INCLUDE[part]:
                below(lower, (*path, part))
        for part in rules.MAY_INCLUDE:
            below(part)


class BannedCalls(RuleCase):
    def test_each_ban_says_what_to_use(self):
        cases = [
            ("src/limit/a.cpp", "std::regex limit;", "parser by hand"),
            ("src/wire/a.cpp", "strcpy(to, from);", "std::string"),
            ("src/wire/a.cpp", "::sprintf(to, from);", "std::to_chars"),
            ("src/wire/a.cpp", "return std::atoi(text);", "std::from_chars"),
            ("src/wire/a.cpp", "return std::stoull(text);", "std::from_chars"),
            ("bench/a.cpp", "out << std::endl;", "'\\n'"),
            ("src/server/a.cpp", 'std::printf("x");', "standard output"),
            ("include/weir/limit.hpp", "std::cout << 1;", "standard output"),
            ("test/law/a.cpp", "return rand();", "mt19937"),
            ("test/law/a.cpp", "std::random_device seed;", "fixed seed"),
            ("include/weir/algorithm/gcra.hpp", "std::chrono::steady_clock::now()", "host"),
            ("test/host/a.cpp", "std::this_thread::sleep_for(1ms);", "manual time"),
        ]
        for path, code, instead in cases:
            with self.subTest(code):
                self.fails(rules.banned_calls, path, f"\n{code}\n", 2, instead)

    def test_what_only_looks_alike_passes(self):
        for path, code in [
            ("src/cli/serve.cpp", "std::cout << banner;"),
            ("src/server/a.cpp", "snprintf(to, size, from); fprintf(stderr, from);"),
            ("src/server/a.cpp", "const auto now = std::chrono::steady_clock::now();"),
            ("test/server/a.cpp", "std::this_thread::sleep_for(1ms);"),
            ("src/wire/a.cpp", "reader.gets(1); table->rand();"),
            ("src/wire/a.cpp", "// Like strcpy(), but bounded.\n"),
            ("src/wire/a.cpp", 'return "std::endl";'),
        ]:
            with self.subTest(code):
                self.passes(rules.banned_calls, path, code)


class Headers(RuleCase):
    def test_a_namespace_opened_for_all_who_include_fails(self):
        self.fails(rules.namespaces_stay_closed_in_headers, "src/wire/a.hpp",
                   "namespace weir {\nusing namespace std;\n}\n", 2, "opens no namespace")
        self.fails(rules.namespaces_stay_closed_in_headers, "src/wire/a.hpp",
                   "using namespace std::chrono_literals;\n", 1, "opens no namespace")

    def test_literals_inside_a_function_and_sources_pass(self):
        self.passes(rules.namespaces_stay_closed_in_headers, "src/wire/a.hpp",
                    "inline Span second() {\n  using namespace std::chrono_literals;\n"
                    "  return 1s;\n}\n")
        self.passes(rules.namespaces_stay_closed_in_headers, "src/wire/a.cpp",
                    "using namespace std;\n")

    def test_a_header_without_pragma_once_fails(self):
        self.passes(rules.headers_are_read_once, "src/wire/a.hpp", "// Why.\n#pragma once\n")
        self.fails(rules.headers_are_read_once, "src/wire/a.hpp", "// Why.\n", 1, "#pragma once")


class Sizes(RuleCase):
    def test_a_line_of_101_columns_fails(self):
        self.passes(rules.lines_fit, "do", "x" * 100 + "\n")
        self.fails(rules.lines_fit, "do", "\n" + "x" * 101 + "\n", 2, "101 columns")
        self.passes(rules.lines_fit, "README.md", "x" * 101 + "\n")

    def test_columns_are_characters_not_bytes(self):
        self.passes(rules.lines_fit, "a.cpp", "é" * 100 + "\n")

    def test_a_file_of_801_lines_fails(self):
        self.passes(rules.lines_fit, "a.cpp", "\n" * 800)
        self.fails(rules.lines_fit, "a.cpp", "\n" * 801, 801, "801 lines")

    def function(self, lines, head="int Reader::take(int left) const noexcept"):
        return head + " {\n" + "  left += 1;\n" * (lines - 2) + "}\n"

    def test_a_function_of_71_lines_fails(self):
        self.passes(rules.functions_fit, "a.cpp", self.function(70))
        self.fails(rules.functions_fit, "a.cpp", "namespace weir {\n" + self.function(71) + "}\n",
                   2, "71 lines")

    def test_every_kind_of_function_is_measured(self):
        for head in ("TEST(Resp, ALongStory)",
                     "template <typename Value = int>\nValue take(Value left = 0)",
                     "bool operator==(const Cell& left)",
                     "Reader::Reader(int left) : left_(left), right_{left}",
                     "auto take(int left) -> std::vector<int>",
                     "static void refuse(int left)\n  requires Punishing<Term>"):
            with self.subTest(head):
                self.assertEqual(len(messages(rules.functions_fit, "a.cpp",
                                              self.function(75, head))), 1)

    def test_types_namespaces_and_tables_are_no_functions(self):
        for head in ("namespace weir", "struct alignas(64) Cell",
                     "class Reader final : public Base", "enum class Verdict : std::uint8_t",
                     "constexpr std::array table = {", "concept Algorithm = requires(int left)"):
            with self.subTest(head):
                self.passes(rules.functions_fit, "a.cpp", self.function(200, head))

    def test_braces_in_literals_and_comments_do_not_count(self):
        self.passes(rules.functions_fit, "a.cpp",
                    "char open() { return '{'; }  // {\n" + "int x = 10'000'000;\n" * 80 +
                    'auto raw = R"({ "a": {)";\n' + "#define OPEN {\n" + self.function(70))


class Blanks(RuleCase):
    def test_blanks_at_the_end_tabs_and_a_missing_end_fail(self):
        self.passes(rules.blanks_are_plain, "a.cpp", "int a;\n")
        self.fails(rules.blanks_are_plain, "README.md", "text \n", 1, "ends the line")
        self.fails(rules.blanks_are_plain, "a.cpp", "int a;\r\n", 1, "ends the line")
        self.fails(rules.blanks_are_plain, "a.cpp", "\n\tint a;\n", 2, "tab")
        self.fails(rules.blanks_are_plain, "a.cpp", "int a;", 1, "no end")

    def test_a_table_of_values_keeps_its_tabs(self):
        self.passes(rules.blanks_are_plain, "test/wire/vectors.tsv", "1\t2\n")


class Leftovers(RuleCase):
    def test_a_note_to_oneself_fails(self):
        for word in ("TO" "DO", "FIX" "ME", "X" "XX"):
            self.fails(rules.nothing_is_left_over, "a.cpp", f"int a;  // {word}: b\n", 1, word)

    def test_a_longer_word_passes(self):
        self.passes(rules.nothing_is_left_over, "a.cpp", "int TODOS; // XXXL\n")


class Names(RuleCase):
    def test_a_folder_of_one_machine_fails(self):
        for folder in ("/ho" "me/ann/weir", "/wo" "rk/main", "/Us" "ers/ann", "/ro" "ot/.ssh",
                       "cd /wo" "rk"):
            self.fails(rules.nothing_names_a_machine, "README.md", f"\nsee {folder}\n", 2, "/")

    def test_a_host_that_packages_come_from_fails(self):
        for host in ("py" "pi.org", "registry.np" "mjs.org", "cra" "tes.io", "deb.deb" "ian.org"):
            self.fails(rules.nothing_names_a_machine, "do", f"from https://{host}/x\n", 1, "one")
        self.passes(rules.nothing_names_a_machine, "bench/peers/rust/Cargo.lock",
                    'source = "registry+https://github.com/rust-lang/cra' 'tes.io-index"\n')

    def test_other_paths_pass(self):
        self.passes(rules.nothing_names_a_machine, "do",
                    "/usr/bin/python3 $root/work/x build/home/a /workers ./home/b /livez\n")

    def test_a_file_named_for_nothing_fails(self):
        self.passes(rules.file_names_say_what_is_inside, "src/wire/resp_reply.hpp", "")
        self.fails(rules.file_names_say_what_is_inside, "src/wire/string_util.hpp", "", 1, "util")


class Tree(unittest.TestCase):
    def test_the_headers_reached_are_followed_through_every_root(self):
        reached = lint.ours_reached_from("test/must_not_compile/ignoring_a_decision.cpp")
        self.assertIn("include/weir/vocabulary.hpp", reached)

    def test_a_header_is_shown_by_the_source_that_includes_it_first(self):
        self.assertEqual(lint.first_include_of_ours("src/wire/resp_reader.cpp"),
                         "src/wire/resp_reader.hpp")
        self.assertIsNone(lint.first_include_of_ours("src/cli/ask.cpp"))


if __name__ == "__main__":
    unittest.main()
