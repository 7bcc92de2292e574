#include <array>
#include <memory>
#include <ostream>

#include "cli/input.hpp"
#include "cli/remote.hpp"
#include "cli/server_verbs.hpp"
#include "redis/limit_config.hpp"
#include "redis/recipes.hpp"
#include "redis/scripts.hpp"

namespace weir::cli {
namespace {

using redis::ScriptVerb;
using wire::ReplyType;

constexpr std::string_view help =
    R"(The scripts that decide in a Redis: print them, or put them there.

Examples:
  weir lua install redis://127.0.0.1:6379
  weir lua config 5/1m burst 2
  weir lua print sliding-log cancel
  weir lua print incr-window

Usage: weir lua install redis://HOST:PORT [recipes] [OPTION...]
       weir lua config LIMIT
       weir lua print library|recipes
       weir lua print ALGORITHM [take|peek|cancel|refund|release|renew]
       weir lua print incr-window|zset-log|spring|share

  --password-file FILE   of the Redis
  --tls-ca FILE          whom to trust, with rediss://HOST:PORT

install loads functions (Redis 7 and later) once, and replaces nothing. config
prints a limit as they want it. print gives a library, or a script for EVALSHA:
a recipe, the registry of shares, or an ALGORITHM by its name in a limit
(`several`: with & or block).
Exit codes: 0 done; 1 another library has that name; 2 bad usage or input; 3 no
server answers.
)";

struct Options {
  std::vector<std::string> words;
  Remote remote;
};

ExitCode complain(const Console& console, std::string message) {
  report(console.err, {std::move(message)});
  return ExitCode::bad_input;
}

struct NamedLetter {
  std::string_view name;
  char letter;
};
constexpr std::array letters{
    NamedLetter{"token-bucket", 't'},   NamedLetter{"gcra", 't'},
    NamedLetter{"leaky-bucket", 'l'},   NamedLetter{"fixed-window", 'f'},
    NamedLetter{"sliding-window", 'w'}, NamedLetter{"sliding-log", 'o'},
    NamedLetter{"concurrency", 'c'},    NamedLetter{"calendar-window", 'k'},
    NamedLetter{"several", 'm'},
};

/// A library for FUNCTION LOAD.
struct Library {
  std::string_view name;
  std::string text;
};
Library machines() { return {redis::library_name, redis::function_library()}; }
Library recipes() { return {redis::recipe_library_name, redis::recipe_library()}; }

/// What is printed by one word; empty where it is none of those.
std::string text_called(std::string_view word) {
  if (word == "library") return machines().text;
  if (word == "recipes") return recipes().text;
  if (word == redis::name(ScriptVerb::share)) return redis::script_of(ScriptVerb::share, 'm');
  for (const redis::Recipe recipe : redis::recipes) {
    if (word == redis::name(recipe)) return std::string(redis::text_of(recipe).script);
  }
  return "";
}

ExitCode print(const std::vector<std::string>& words, const Console& console) {
  if (words.size() < 2 || words.size() > 3) {
    return complain(console, "expected: weir lua print library, recipes, or one script's name");
  }
  const std::string text = words.size() == 2 ? text_called(words[1]) : "";
  if (!text.empty()) {
    console.out << text;
    return ExitCode::ok;
  }
  const std::string verb = words.size() == 3 ? words[2] : "take";
  for (const NamedLetter& named : letters) {
    if (named.name != words[1]) continue;
    for (const ScriptVerb known : {ScriptVerb::take, ScriptVerb::peek, ScriptVerb::cancel,
                                   ScriptVerb::refund, ScriptVerb::release, ScriptVerb::renew}) {
      if (verb != redis::name(known)) continue;
      console.out << redis::script_of(known, named.letter);
      return ExitCode::ok;
    }
    return complain(console, "'" + printable(verb) +
                                 "': expected take, peek, cancel, refund, release or renew");
  }
  return complain(
      console,
      "no script is called '" + printable(words[1]) +
          "'; expected library, recipes, share, an algorithm's or a recipe's name, or several");
}

ExitCode print_config(std::vector<std::string> words, const Console& console) {
  words.erase(words.begin());
  const auto limit = read_limit(words);
  if (!limit) {
    report(console.err, limit.error());
    return ExitCode::bad_input;
  }
  const auto text = redis::config_text(*limit);
  if (!text) return complain(console, "the limit " + std::string(describe(text.error())));
  console.out << *text << '\n';
  return ExitCode::ok;
}

/// redis://HOST:PORT as the address that a Remote wants; empty where it is none.
std::string address_of(std::string_view url) {
  constexpr std::string_view plain = "redis://";
  constexpr std::string_view encrypted = "rediss://";
  if (url.starts_with(plain)) return std::string(url.substr(plain.size()));
  if (url.starts_with(encrypted)) return "tls:" + std::string(url.substr(encrypted.size()));
  return "";
}

/// Of a library of our name that is there already: whether it is this one.
ExitCode compare(Conversation& conversation, const Library& library, const std::string& url,
                 const Console& console) {
  const std::array<std::string_view, 5> list{"FUNCTION", "LIST", "LIBRARYNAME", library.name,
                                             "WITHCODE"};
  const auto reply = conversation.ask(list);
  if (!reply) {
    report(console.err, {reply.error().message});
    return reply.error().code;
  }
  const wire::Reply* code =
      reply->elements.empty() ? nullptr : reply->elements[0].field("library_code");
  if (code && code->text == library.text) {
    console.out << library.name << " is at " << url << " already\n";
    return ExitCode::ok;
  }
  const std::string name(library.name);
  report(console.err, {"another library is called " + name + " at " + url +
                       "; look at it with: FUNCTION LIST LIBRARYNAME " + name + " WITHCODE"});
  return ExitCode::refused;
}

ExitCode install(const Options& options, const Console& console) {
  const bool of_recipes = options.words.size() == 3 && options.words[2] == "recipes";
  const bool right = options.words.size() == 2 || of_recipes;
  const std::string url = right ? printable(options.words[1]) : "";
  Remote remote = options.remote;
  remote.address = address_of(url);
  if (remote.address.empty()) {
    return complain(console, "expected: weir lua install redis://HOST:PORT [recipes]");
  }
  auto begun = Conversation::begin(remote);
  if (!begun) {
    report(console.err, {begun.error().message});
    return begun.error().code;
  }
  Conversation conversation = std::move(begun).value();
  const Library library = of_recipes ? recipes() : machines();
  const std::array<std::string_view, 3> load{"FUNCTION", "LOAD", library.text};
  const auto reply = conversation.ask(load);
  if (!reply) {
    report(console.err, {reply.error().message});
    return reply.error().code;
  }
  if (reply->type != ReplyType::error) {
    console.out << "loaded " << library.name << " into " << url << '\n';
    return ExitCode::ok;
  }
  if (reply->text.find("already exists") != std::string::npos) {
    return compare(conversation, library, url, console);
  }
  if (reply->text.starts_with("ERR unknown command")) {
    return complain(console, url + " knows no functions, as Redis does from 7 on; " +
                                 "use EVALSHA and: weir lua print ALGORITHM");
  }
  const RemoteError said = said_by_server(*reply);
  report(console.err, {said.message});
  return said.code;
}

}  // namespace

Verb add_lua(CLI::App& weir) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = weir.add_subcommand("lua", "the scripts that decide in a Redis");
  command->group(also);
  command->add_option("words", options->words)->required()->type_name("install|config|print");
  command->add_option("--password-file", options->remote.password_file)->type_name("FILE");
  command->add_option("--tls-ca", options->remote.tls_ca)->type_name("FILE");
  return {command, help, "", [options](const Console& console) {
            const std::string& what = options->words[0];
            if (what == "print") return print(options->words, console);
            if (what == "config") return print_config(options->words, console);
            if (what == "install") return install(*options, console);
            return complain(console,
                            "'" + printable(what) + "': expected install, config or print");
          }};
}

}  // namespace weir::cli
