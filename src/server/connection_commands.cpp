// The commands that Redis clients send around their work.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "limit/characters.hpp"
#include "server/commands.hpp"
#include "server/top_command.hpp"
#include "server/transaction.hpp"
#include "wire/integer.hpp"
#include "wire/limiter_command.hpp"

namespace weir::server {
namespace {

using wire::Arguments;
using wire::is_word;
using wire::ReplyWriter;

/// Clients choose features by this; we speak what a Redis of that age speaks.
constexpr std::string_view spoken_redis_version = "7.0.0";

void fail(CommandContext& context, ReplyWriter& reply, std::string_view message) {
  context.metrics.command_errors.add(1);
  reply.error(message);
}

/// For a second word that the command does not know, or not with so many arguments.
void unknown_verb(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const Command& command = *find_command(arguments[0]);
  fail(context, reply,
       fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'; usage: {} {}",
                   shown(arguments[1]), command.name, command.arguments));
}

void ping(CommandContext&, const Arguments& arguments, ReplyWriter& reply) {
  if (arguments.size() > 1) {
    reply.bulk(arguments[1]);
  } else {
    reply.simple("PONG");
  }
}

void echo(CommandContext&, const Arguments& arguments, ReplyWriter& reply) {
  reply.bulk(arguments[1]);
}

void quit(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  context.connection->closing = true;
  reply.simple("OK");
}

void reset_connection(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  context.connection->protocol = wire::Protocol::resp2;
  context.connection->name.clear();
  context.connection->transaction.reset();
  if (context.service.password.required()) {
    context.connection->authenticated = false;
    context.turn = 0;  // what came with it needs the password too
  }
  reply.simple("RESET");
}

void select(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  if (arguments[1] == "0") return reply.simple("OK");
  fail(context, reply, "ERR there is one database, 0; put the tenant into the key instead");
}

/// Lets the client in; false after an error reply.
bool authenticate(CommandContext& context, const Credentials& credentials, ReplyWriter& reply) {
  const Password& password = context.service.password;
  if (!password.required()) {
    fail(context, reply, "ERR this server has no password; connect without AUTH");
    return false;
  }
  if (!password.matches(credentials)) {
    context.metrics.auth_failures.add(1);
    fail(context, reply, "WRONGPASS invalid username-password pair or user is disabled.");
    return false;
  }
  context.connection->authenticated = true;
  return true;
}

void auth(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  if (arguments.size() > 3) return fail(context, reply, "ERR usage: AUTH [default] password");
  const bool named = arguments.size() == 3;
  const Credentials credentials{named ? arguments[1] : "default", arguments.back()};
  if (authenticate(context, credentials, reply)) reply.simple("OK");
}

/// What a Redis without a cluster answers, for clients of clusters know the text.
void cluster(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  fail(context, reply,
       "ERR This instance has cluster support disabled; connect with a client for one server");
}

bool valid_name(std::string_view name) {
  return name.size() <= 256 && name.find_first_of(" \r\n") == std::string_view::npos;
}

void hello(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  Connection& connection = *context.connection;
  wire::Protocol protocol = connection.protocol;
  std::string_view name = connection.name;
  std::optional<Credentials> credentials;
  std::size_t at = 1;
  if (arguments.size() > 1) {
    const auto version = wire::strict_integer(arguments[1]);
    if (!version || *version < 2 || *version > 3) {
      return fail(context, reply, "NOPROTO unsupported protocol version; expected 2 or 3");
    }
    protocol = *version == 3 ? wire::Protocol::resp3 : wire::Protocol::resp2;
    at = 2;
  }
  while (at < arguments.size()) {
    if (is_word(arguments[at], "AUTH") && at + 2 < arguments.size()) {
      credentials = {arguments[at + 1], arguments[at + 2]};
      at += 3;
      continue;
    }
    if (!is_word(arguments[at], "SETNAME") || at + 1 >= arguments.size() ||
        !valid_name(arguments[at + 1])) {
      return fail(context, reply,
                  "ERR usage: HELLO [protocol [AUTH user password] [SETNAME name]]");
    }
    name = arguments[at + 1];
    at += 2;
  }
  if (credentials && !authenticate(context, *credentials, reply)) return;
  if (!connection.authenticated) {
    return fail(context, reply,
                "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
                "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client "
                "and select the RESP protocol version at the same time");
  }
  connection.protocol = protocol;
  connection.name = std::string(name);

  ReplyWriter now = reply.in(protocol);
  now.map(7);
  now.bulk("server");
  now.bulk("weir");
  now.bulk("version");
  now.bulk(spoken_redis_version);
  now.bulk("proto");
  now.integer(static_cast<int>(protocol));
  now.bulk("id");
  now.integer(static_cast<std::int64_t>(connection.id));
  now.bulk("mode");
  now.bulk("standalone");
  now.bulk("role");
  now.bulk("master");
  now.bulk("modules");
  now.array(0);
}

void client(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  Connection& connection = *context.connection;
  const std::string_view verb = arguments[1];
  if (is_word(verb, "SETNAME") && arguments.size() == 3) {
    if (!valid_name(arguments[2])) {
      return fail(context, reply, "ERR a client's name has at most 256 characters and no blanks");
    }
    connection.name = std::string(arguments[2]);
    reply.simple("OK");
  } else if ((is_word(verb, "SETINFO") && arguments.size() == 4) ||
             ((is_word(verb, "NO-EVICT") || is_word(verb, "NO-TOUCH")) && arguments.size() == 3)) {
    reply.simple("OK");
  } else if (is_word(verb, "GETNAME") && arguments.size() == 2) {
    if (connection.name.empty()) return reply.null();
    reply.bulk(connection.name);
  } else if (is_word(verb, "ID") && arguments.size() == 2) {
    reply.integer(static_cast<std::int64_t>(connection.id));
  } else if (is_word(verb, "INFO") && arguments.size() == 2) {
    reply.bulk(fmt::format("id={} addr={} name={} resp={}\n", connection.id, connection.peer,
                           connection.name, static_cast<int>(connection.protocol)));
  } else {
    unknown_verb(context, arguments, reply);
  }
}

void config(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  if (is_word(arguments[1], "GET")) {
    // What redis-benchmark and some pools ask: nothing is written to disk here.
    constexpr std::array<std::array<std::string_view, 2>, 2> known{
        {{"save", ""}, {"appendonly", "no"}}};
    std::vector<const std::array<std::string_view, 2>*> told;
    for (const auto& each : known) {
      for (std::size_t at = 2; at < arguments.size(); ++at) {
        if (arguments[at] == each[0]) told.push_back(&each);
      }
    }
    reply.map(told.size());
    for (const auto* each : told) {
      reply.bulk((*each)[0]);
      reply.bulk((*each)[1]);
    }
    return;
  }
  fail(context, reply, "ERR options are given when the server starts: weir serve --help");
}

void info(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  const Table::Stats table = context.service.table.stats();
  const Metrics& metrics = context.service.metrics;
  const ProcessUse use = ProcessUse::so_far();
  const auto up = std::chrono::steady_clock::now() - context.service.began;
  reply.bulk(fmt::format(
      "# "
      "Server\r\nredis_version:{}\r\nweir_version:{}\r\nredis_mode:standalone\r\nprocess_id:{}\r\n"
      "uptime_in_seconds:{}\r\n"
      "\r\n# Clients\r\nconnected_clients:{}\r\nblocked_clients:0\r\n"
      "\r\n# Memory\r\nused_memory:{}\r\nused_memory_rss:{}\r\n"
      "\r\n# Persistence\r\nloading:0\r\nrdb_bgsave_in_progress:0\r\n"
      "aof_rewrite_in_progress:0\r\n"
      "\r\n# Stats\r\ntotal_connections_received:{}\r\ntotal_commands_processed:{}\r\n"
      "dropped_keys:{}\r\nshared_decisions:{}\r\n"
      "\r\n# CPU\r\nused_cpu_sys:{:.6f}\r\nused_cpu_user:{:.6f}\r\n"
      "\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
      "\r\n# Keyspace\r\ndb0:keys={},expires=0,avg_ttl=0\r\n",
      spoken_redis_version, WEIR_VERSION, getpid(),
      std::chrono::duration_cast<std::chrono::seconds>(up).count(), metrics.connections(),
      table.bytes, use.resident_bytes, metrics.connections_opened(), metrics.asked(Speaks::resp),
      table.dropped, table.shared_answers, use.system_s, use.user_s, table.keys));
}

void dbsize(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  reply.integer(static_cast<std::int64_t>(context.service.table.stats().keys));
}

template <typename Do>
void each_command(Do&& action) {
  for (const Command& command : limiter_commands()) action(command);
  for (const Command& command : connection_commands()) action(command);
}

void write_info(const Command* command, ReplyWriter& reply) {
  if (!command) return reply.null();
  const Keys keys = command->keys;
  const bool fixed = keys == Keys::first || keys == Keys::every;
  reply.array(6);
  reply.bulk(in_lower_case(command->name));
  reply.integer(command->arity);
  reply.array(keys == Keys::numbered ? 3 : 2);
  reply.simple(command->writes ? "write" : "readonly");
  reply.simple("fast");
  if (keys == Keys::numbered) reply.simple("movablekeys");
  reply.integer(fixed ? 1 : 0);                             // the first key
  reply.integer(keys == Keys::every ? -1 : fixed ? 1 : 0);  // the last, from behind if negative
  reply.integer(fixed ? 1 : 0);                             // from one to the next
}

/// "key limit [COST n]" as its pieces: key, limit, [COST n].
std::vector<std::string_view> pieces(std::string_view arguments) {
  std::vector<std::string_view> found;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= arguments.size(); ++at) {
    const char c = at < arguments.size() ? arguments[at] : ' ';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ' ' || depth > 0) continue;
    if (at > begin) found.push_back(arguments.substr(begin, at - begin));
    begin = at + 1;
  }
  return found;
}

/// redis-cli makes its hints of the arguments, and its help on a group needs one for every command.
void write_docs(const Command& command, ReplyWriter& reply) {
  const bool limits = command.keys != Keys::none;
  reply.bulk(in_lower_case(command.name));
  reply.map(4);
  reply.bulk("summary");
  reply.bulk(command.summary);
  reply.bulk("group");
  reply.bulk(limits ? "limits" : "connection");
  reply.bulk("usage");
  reply.bulk(std::string(command.name) + " " + std::string(command.arguments));
  const auto arguments = pieces(command.arguments);
  reply.bulk("arguments");
  reply.array(arguments.size());
  for (const std::string_view argument : arguments) {
    reply.map(2);
    reply.bulk("name");
    reply.bulk(argument);
    reply.bulk("type");
    reply.bulk("string");
  }
}

/// The keys among the arguments of a command; none where it is not one that could be run.
std::optional<wire::CommandArguments> keys_of(wire::CommandArguments arguments) {
  const Command* command = find_command(arguments[0]);
  if (!command || !takes(*command, arguments.size())) return std::nullopt;
  switch (command->keys) {
    case Keys::none: break;
    case Keys::first: return arguments.subspan(1, 1);
    case Keys::every: return arguments.subspan(1);
    case Keys::numbered:
      if (const auto count = wire::strict_integer(arguments[1]);
          count && *count > 0 && *count <= static_cast<std::int64_t>(arguments.size()) - 2) {
        return arguments.subspan(2, static_cast<std::size_t>(*count));
      }
  }
  return std::nullopt;
}

void command_keys(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto keys = keys_of(wire::CommandArguments(arguments).subspan(2));
  if (!keys) {
    return fail(context, reply, "ERR expected a command that has keys, with all its arguments");
  }
  reply.array(keys->size());
  for (const std::string_view key : *keys) reply.bulk(key);
}

void command_docs(std::span<const std::string_view> names, ReplyWriter& reply) {
  std::vector<const Command*> wanted;
  if (names.empty()) each_command([&](const Command& each) { wanted.push_back(&each); });
  for (const std::string_view name : names) {
    if (const Command* found = find_command(name)) wanted.push_back(found);
  }
  reply.map(wanted.size());
  for (const Command* each : wanted) write_docs(*each, reply);
}

void command(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const std::size_t known = limiter_commands().size() + connection_commands().size();
  const std::string_view verb = arguments.size() > 1 ? arguments[1] : "INFO";
  const auto names =
      wire::CommandArguments(arguments).subspan(std::min<std::size_t>(arguments.size(), 2));
  if (is_word(verb, "INFO")) {
    reply.array(names.empty() ? known : names.size());
    if (names.empty()) each_command([&](const Command& each) { write_info(&each, reply); });
    for (const std::string_view name : names) write_info(find_command(name), reply);
  } else if (is_word(verb, "DOCS")) {
    command_docs(names, reply);
  } else if (is_word(verb, "COUNT") && names.empty()) {
    reply.integer(static_cast<std::int64_t>(known));
  } else if (is_word(verb, "LIST") && names.empty()) {
    reply.array(known);
    each_command([&](const Command& each) { reply.bulk(in_lower_case(each.name)); });
  } else if (is_word(verb, "GETKEYS") && !names.empty()) {
    command_keys(context, arguments, reply);
  } else {
    unknown_verb(context, arguments, reply);
  }
}

constexpr std::array commands{
    Command{"PING", -1, false, Keys::none, "Answers PONG, or the message.", "[message]", ping},
    Command{"ECHO", 2, false, Keys::none, "Answers the message.", "message", echo},
    Command{"HELLO", -1, false, Keys::none, "Chooses RESP2 or RESP3.",
            "[protocol [AUTH user password] [SETNAME name]]", hello},
    Command{"AUTH", -2, false, Keys::none, "Shows the password, where there is one.",
            "[default] password", auth},
    Command{"CLIENT", -2, false, Keys::none, "Names this connection, or tells of it.",
            "ID | INFO | GETNAME | SETNAME name | SETINFO what value", client},
    Command{"COMMAND", -1, false, Keys::none, "Lists the commands.",
            "[COUNT | LIST | INFO [name...] | DOCS [name...] | GETKEYS command...]", command},
    Command{"CLUSTER", -2, false, Keys::none, "Refused: this server is no cluster.", "verb",
            cluster},
    Command{"CONFIG", -2, false, Keys::none, "Tells that nothing is written to disk.",
            "GET name...", config},
    Command{"DBSIZE", 1, false, Keys::none, "Counts the keys that are kept.", "", dbsize},
    Command{"INFO", -1, false, Keys::none, "Tells of the server.", "[section]", info},
    Command{"WEIR.TOP", -1, false, Keys::none, "Tells of limits, and of the keys asked for most.",
            "[COUNT n]", top},
    Command{"SELECT", 2, false, Keys::none, "Chooses the one database, 0.", "0", select},
    Command{"MULTI", 1, false, Keys::none, "Has commands wait for EXEC.", "", multi},
    Command{"EXEC", 1, false, Keys::none, "Runs the commands that wait, in their order.", "", exec},
    Command{"DISCARD", 1, false, Keys::none, "Forgets the commands that wait.", "", discard},
    Command{"RESET", 1, false, Keys::none, "Makes this connection as good as new.", "",
            reset_connection},
    Command{"QUIT", -1, false, Keys::none, "Closes this connection.", "", quit},
};

}  // namespace

std::span<const Command> connection_commands() { return commands; }

}  // namespace weir::server
