#include "test/module/fake_server.hpp"

#include <charconv>
#include <cstdarg>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "module/call.hpp"
#include "wire/integer.hpp"

extern "C" int RedisModule_OnLoad(weir::module::Context*, weir::module::Text**, int) noexcept;

namespace weir::module {

/// As the module sees it: it begins with the address of GetApi.
struct Context {
  int (*get_api)(const char*, void*);
};
struct Text {
  std::string bytes;
};
struct OpenedKey {
  std::string name;
  int mode;
};
struct CommandHandle {};

namespace {

FakeServer* current = nullptr;
Instant told_now{};

void require(bool held, const char* rule) {
  if (!held) throw std::logic_error(std::string("module API: ") + rule);
}

std::int64_t now_ms() { return told_now.time_since_epoch().count() / 1'000; }

wire::Reply of_type(wire::ReplyType type, std::string text = {}) {
  wire::Reply reply;
  reply.type = type;
  reply.text = std::move(text);
  return reply;
}

}  // namespace

Instant wall_clock() noexcept { return told_now; }

/// The functions that the module finds by name.
struct FakeServer::Functions {
  static FakeServer& here() { return *current; }

  static int CreateCommand(Context*, const char* name, Entry entry, const char* flags, int, int,
                           int) {
    here().commands_.emplace(name, Command{entry, flags});
    return api_ok;
  }
  static void SetModuleAttribs(Context*, const char*, int, int) {}
  static int IsModuleNameBusy(const char*) { return 0; }
  static void SetModuleOptions(Context*, int) {}
  static int GetContextFlags(Context*) { return here().cluster_ ? flag_cluster : 0; }
  static void Log(Context*, const char*, const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    const char* text = std::strcmp(format, "%s") == 0 ? va_arg(arguments, const char*) : format;
    va_end(arguments);
    here().log_.emplace_back(text);
  }

  static Text* CreateString(Context*, const char* bytes, std::size_t size) {
    ++here().strings_;
    return new Text{std::string(bytes, size)};
  }
  static void FreeString(Context*, Text* text) {
    --here().strings_;
    delete text;
  }
  static const char* StringPtrLen(const Text* text, std::size_t* size) {
    *size = text->bytes.size();
    return text->bytes.data();
  }

  static Stored* stored(const OpenedKey* key) {
    here().expire();
    const auto at = here().keys_.find(key->name);
    return at == here().keys_.end() ? nullptr : &at->second;
  }
  static OpenedKey* OpenKey(Context*, Text* name, int mode) {
    OpenedKey key{name->bytes, mode};
    if ((mode & open_to_write) == 0 && !stored(&key)) return nullptr;
    ++here().opened_keys_;
    return new OpenedKey(std::move(key));
  }
  static void CloseKey(OpenedKey* key) {
    if (!key) return;
    --here().opened_keys_;
    delete key;
  }
  static int KeyType(OpenedKey* key) {
    const Stored* at = key ? stored(key) : nullptr;
    if (!at) return type_empty;
    return at->is_string ? type_string : type_string + 1;
  }
  static char* StringDMA(OpenedKey* key, std::size_t* size, int mode) {
    Stored* at = stored(key);
    require(at && at->is_string, "StringDMA of what is no string");
    require((mode & ~key->mode) == 0, "StringDMA for more than the key was opened for");
    *size = at->bytes.size();
    return at->bytes.data();
  }
  static int StringTruncate(OpenedKey* key, std::size_t size) {
    require((key->mode & open_to_write) != 0, "StringTruncate of a key opened to read");
    here().keys_[key->name].bytes.resize(size);
    return api_ok;
  }
  static int DeleteKey(OpenedKey* key) {
    require((key->mode & open_to_write) != 0, "DeleteKey of a key opened to read");
    here().keys_.erase(key->name);
    return api_ok;
  }
  static int SetExpire(OpenedKey* key, long long ms) { return SetAbsExpire(key, now_ms() + ms); }
  static int SetAbsExpire(OpenedKey* key, long long unix_ms) {
    Stored* at = stored(key);
    require(at != nullptr, "SetExpire of no key");
    at->until_ms = unix_ms;
    return api_ok;
  }
  static int SignalModifiedKey(Context*, Text* key) {
    here().signalled_.push_back(key->bytes);
    return api_ok;
  }
  static int NotifyKeyspaceEvent(Context*, int, const char* event, Text* key) {
    here().events_.push_back(std::string(event) + " " + key->bytes);
    return api_ok;
  }
  static int Replicate(Context*, const char* name, const char* format, ...) {
    std::vector<std::string> command{name};
    std::va_list arguments;
    va_start(arguments, format);
    for (const char* at = format; *at != '\0'; ++at) {
      switch (*at) {
        case 's': command.push_back(va_arg(arguments, Text*)->bytes); break;
        case 'c': command.emplace_back(va_arg(arguments, const char*)); break;
        case 'l': command.push_back(std::to_string(va_arg(arguments, long long))); break;
        case 'b': {
          const char* bytes = va_arg(arguments, const char*);
          const std::size_t size = va_arg(arguments, std::size_t);
          command.emplace_back(bytes, size);
          break;
        }
        default: require(false, "Replicate with a format that this test does not know");
      }
    }
    va_end(arguments);
    here().replicate(std::move(command));
    return api_ok;
  }

  static int IsKeysPositionRequest(Context*) { return here().asks_keys_ ? 1 : 0; }
  static void KeyAtPos(Context*, int position) { here().key_positions_.push_back(position); }

  static int ReplyWithError(Context*, const char* text) {
    here().add(of_type(wire::ReplyType::error, text));
    return api_ok;
  }
  static int ReplyWithLongLong(Context*, long long value) {
    wire::Reply reply = of_type(wire::ReplyType::integer);
    reply.integer = value;
    here().add(std::move(reply));
    return api_ok;
  }
  static int ReplyWithStringBuffer(Context*, const char* bytes, std::size_t size) {
    here().add(of_type(wire::ReplyType::bulk, std::string(bytes, size)));
    return api_ok;
  }
  static int ReplyWithNull(Context*) {
    here().add(of_type(wire::ReplyType::null));
    return api_ok;
  }
  static int open(wire::ReplyType type, long elements) {
    here().open_.push_back({of_type(type), static_cast<std::size_t>(elements)});
    here().close_full();
    return api_ok;
  }
  static int ReplyWithArray(Context*, long size) { return open(wire::ReplyType::array, size); }
  static int ReplyWithMap(Context*, long pairs) { return open(wire::ReplyType::map, 2 * pairs); }

  static CommandHandle* GetCommand(Context*, const char*) {
    static CommandHandle handle;
    return &handle;
  }
  static int SetCommandInfo(CommandHandle*, const CommandInfo*) { return api_ok; }
  static int SetCommandACLCategories(CommandHandle*, const char*) { return api_ok; }

  static int get(const char* name, void* place) {
    using Any = void (*)();
    static const std::unordered_map<std::string_view, std::pair<Any, bool>> known{
#define WEIR_KNOWN(name, new_only)                                              \
  {                                                                             \
    "RedisModule_" #name, { reinterpret_cast<Any>(&Functions::name), new_only } \
  }
        WEIR_KNOWN(CreateCommand, false),
        WEIR_KNOWN(SetModuleAttribs, false),
        WEIR_KNOWN(IsModuleNameBusy, false),
        WEIR_KNOWN(SetModuleOptions, false),
        WEIR_KNOWN(GetContextFlags, false),
        WEIR_KNOWN(Log, false),
        WEIR_KNOWN(CreateString, false),
        WEIR_KNOWN(FreeString, false),
        WEIR_KNOWN(StringPtrLen, false),
        WEIR_KNOWN(OpenKey, false),
        WEIR_KNOWN(CloseKey, false),
        WEIR_KNOWN(KeyType, false),
        WEIR_KNOWN(StringDMA, false),
        WEIR_KNOWN(StringTruncate, false),
        WEIR_KNOWN(DeleteKey, false),
        WEIR_KNOWN(SetExpire, false),
        WEIR_KNOWN(SignalModifiedKey, false),
        WEIR_KNOWN(NotifyKeyspaceEvent, false),
        WEIR_KNOWN(Replicate, false),
        WEIR_KNOWN(IsKeysPositionRequest, false),
        WEIR_KNOWN(KeyAtPos, false),
        WEIR_KNOWN(ReplyWithError, false),
        WEIR_KNOWN(ReplyWithLongLong, false),
        WEIR_KNOWN(ReplyWithArray, false),
        WEIR_KNOWN(ReplyWithStringBuffer, false),
        WEIR_KNOWN(ReplyWithNull, false),
        WEIR_KNOWN(SetAbsExpire, true),
        WEIR_KNOWN(ReplyWithMap, true),
        WEIR_KNOWN(GetCommand, true),
        WEIR_KNOWN(SetCommandInfo, true),
        WEIR_KNOWN(SetCommandACLCategories, true),
#undef WEIR_KNOWN
    };
    const auto at = known.find(name);
    if (at == known.end()) return api_error;
    if (at->second.second && here().age_ == Age::old_server) return api_error;
    std::memcpy(place, &at->second.first, sizeof at->second.first);
    return api_ok;
  }
};

namespace {

Context context{nullptr};

/// Words as the server hands them over.
struct Words {
  explicit Words(const std::vector<std::string>& words) {
    texts.reserve(words.size());
    for (const std::string& word : words) texts.push_back({word});
    for (Text& text : texts) pointers.push_back(&text);
  }
  std::vector<Text> texts;
  std::vector<Text*> pointers;
};

}  // namespace

FakeServer::FakeServer(const std::vector<std::string>& words, Age age) : age_(age) {
  require(current == nullptr, "one server at a time");
  current = this;
  context.get_api = &Functions::get;
  api = {};
  Words given(words);
  loaded_ = RedisModule_OnLoad(&context, given.pointers.data(),
                               static_cast<int>(given.pointers.size())) == api_ok;
}

FakeServer::~FakeServer() { current = nullptr; }

void FakeServer::set_time(Instant now) { told_now = now; }

FakeServer::Keys& FakeServer::keys() {
  expire();
  return keys_;
}

void FakeServer::expire() {
  std::erase_if(keys_, [](const auto& key) {
    return key.second.until_ms && *key.second.until_ms < now_ms();
  });
  std::erase_if(replica_, [](const auto& key) {
    return key.second.until_ms && *key.second.until_ms < now_ms();
  });
}

/// As a replica runs it.
void FakeServer::replicate(std::vector<std::string> command) {
  if (command[0] == "SET") {
    require(command.size() == 5 && command[3] == "PXAT", "SET key value PXAT ms");
    replica_[command[1]] = {true, command[2], wire::strict_integer(command[4]).value()};
  } else {
    require(command[0] == "DEL" && command.size() == 2, "SET or DEL");
    replica_.erase(command[1]);
  }
  replicated_.push_back(std::move(command));
}

void FakeServer::add(wire::Reply value) {
  if (open_.empty()) {
    replies_.push_back(std::move(value));
    return;
  }
  open_.back().reply.elements.push_back(std::move(value));
  --open_.back().left;
  close_full();
}

void FakeServer::close_full() {
  while (!open_.empty() && open_.back().left == 0) {
    wire::Reply full = std::move(open_.back().reply);
    open_.pop_back();
    if (open_.empty()) {
      replies_.push_back(std::move(full));
    } else {
      open_.back().reply.elements.push_back(std::move(full));
      --open_.back().left;
    }
  }
}

wire::Reply FakeServer::run(const std::vector<std::string>& command) {
  const auto known = commands_.find(command.at(0));
  if (known == commands_.end()) return of_type(wire::ReplyType::error, "ERR unknown command");
  replies_.clear();
  const auto written = replicated_.size();
  const auto told = signalled_.size();
  Words given(command);
  known->second.entry(&context, given.pointers.data(), static_cast<int>(given.pointers.size()));
  require(opened_keys_ == 0, "a key was left open");
  require(strings_ == 0, "a string was not freed");
  require(open_.empty(), "a reply was not finished");
  require(replies_.size() == 1, "not one reply");
  require(replicated_.size() - written == signalled_.size() - told,
          "what is replicated is signalled, and nothing else");
  return replies_[0];
}

std::vector<std::string> FakeServer::keys_of(const std::vector<std::string>& command) {
  asks_keys_ = true;
  key_positions_.clear();
  Words given(command);
  commands_.at(command.at(0))
      .entry(&context, given.pointers.data(), static_cast<int>(given.pointers.size()));
  asks_keys_ = false;
  std::vector<std::string> keys;
  for (const int position : key_positions_) keys.push_back(command.at(std::size_t(position)));
  return keys;
}

std::vector<std::string> FakeServer::commands() const {
  std::vector<std::string> names;
  for (const auto& [name, command] : commands_) names.push_back(name + ": " + command.flags);
  return names;
}

}  // namespace weir::module
