#include "cli/remote.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include "cli/input.hpp"
#include "cli/tls_client.hpp"
#include "redis/secret_file.hpp"
#include "server/address.hpp"
#include "wire/resp_request.hpp"

namespace weir::cli {

using server::Address;

/// A connected socket, plain or encrypted, that waits for two seconds at most.
class Conversation::Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    tls_.reset();
    if (socket_ >= 0) ::close(socket_);
  }

  std::optional<RemoteError> open(const Remote& remote) {
    const auto address = server::read_address(remote.address);
    if (!address) return RemoteError{"--server: " + address.error().message, ExitCode::bad_input};
    where_ = remote.address;
    const std::string trouble = address->kind == Address::Kind::unix_socket
                                    ? connect_path(*address)
                                    : connect_host(*address);
    if (!trouble.empty()) {
      return RemoteError{"no server answers at " + where_ + " (" + trouble +
                         "); start one with: weir serve"};
    }
    if (address->kind != Address::Kind::tls) return {};
    auto opened = TlsClient::open({.descriptor = socket_,
                                   .host = address->host,
                                   .ca = remote.tls_ca,
                                   .certificate = remote.tls_certificate,
                                   .key = remote.tls_key});
    if (!opened) return RemoteError{"no TLS with " + where_ + ": " + opened.error().message};
    tls_ = std::move(opened).value();
    return {};
  }

  Expected<wire::Reply, RemoteError> ask(std::span<const std::string_view> command) {
    std::string request;
    wire::write_request(request, command);
    wire::ReplyReader reader;
    wire::Reply reply;
    bool alive = send(request);
    while (alive) {
      std::array<char, 4096> bytes;
      const std::size_t count = receive(bytes);
      const wire::ReadReply read = reader.read(std::string_view(bytes.data(), count), reply);
      if (read.status == wire::ReadStatus::complete) return reply;
      if (read.status == wire::ReadStatus::malformed) {
        return RemoteError{where_ + " does not speak RESP: " + wire::describe(read.fault)};
      }
      alive = count > 0;
    }
    return RemoteError{where_ + " gave no answer: " + why_};
  }

 private:
  std::string connect_path(const Address& address) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.path.data(), address.path.size());
    return connect_to(reinterpret_cast<const sockaddr*>(&name), sizeof name);
  }

  /// To the first of the host's addresses that answers.
  std::string connect_host(const Address& address) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int fault =
        ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &first);
    if (fault != 0) return ::gai_strerror(fault);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(first, ::freeaddrinfo);
    std::string trouble;
    for (const addrinfo* each = first; each; each = each->ai_next) {
      trouble = connect_to(each->ai_addr, each->ai_addrlen);
      if (trouble.empty()) break;
    }
    return trouble;
  }

  std::string connect_to(const sockaddr* name, socklen_t size) {
    if (socket_ >= 0) ::close(socket_);
    socket_ = ::socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{.tv_sec = 2, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket_, name, size) == 0) return "";
    return errno == EINPROGRESS ? "it took too long" : std::generic_category().message(errno);
  }

  bool send(std::string_view bytes) {
    if (tls_) return tls_->send(bytes, why_);
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) {
        why_ = std::generic_category().message(errno);
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  /// 0 at the end.
  std::size_t receive(std::span<char> room) {
    if (tls_) return tls_->receive(room, why_);
    const ssize_t count = ::recv(socket_, room.data(), room.size(), 0);
    if (count > 0) return static_cast<std::size_t>(count);
    why_ = count == 0        ? "it closed the connection"
           : errno == EAGAIN ? "it took too long"
                             : std::generic_category().message(errno);
    return 0;
  }

  std::string where_;
  int socket_ = -1;
  std::unique_ptr<TlsClient> tls_;
  std::string why_;
};

Conversation::Conversation(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
Conversation::Conversation(Conversation&&) noexcept = default;
Conversation& Conversation::operator=(Conversation&&) noexcept = default;
Conversation::~Conversation() = default;

Expected<Conversation, RemoteError> Conversation::begin(const Remote& remote) {
  if (remote.tls_certificate.empty() != remote.tls_key.empty()) {
    return RemoteError{"--tls-cert and --tls-key go together", ExitCode::bad_input};
  }
  std::string password;
  if (!remote.password_file.empty()) {
    auto file = redis::read_secret(remote.password_file);
    if (!file) return RemoteError{file.error().message, ExitCode::bad_input};
    password = file->secret;
  }
  auto connection = std::make_unique<Connection>();
  if (auto error = connection->open(remote)) return *std::move(error);
  if (!password.empty()) {
    const std::array<std::string_view, 2> authenticate{"AUTH", password};
    const auto reply = connection->ask(authenticate);
    if (!reply) return reply.error();
    if (reply->type == wire::ReplyType::error) return said_by_server(*reply);
  }
  return Conversation(std::move(connection));
}

Expected<wire::Reply, RemoteError> Conversation::ask(std::span<const std::string_view> command) {
  return connection_->ask(command);
}

RemoteError said_by_server(const wire::Reply& reply) {
  const bool locked = reply.text.starts_with("NOAUTH");
  return {"the server says: " + printable(reply.text) +
              (locked ? " Name the password's file with --password-file FILE" : ""),
          ExitCode::bad_input};
}

Expected<wire::Reply, RemoteError> ask(const Remote& remote,
                                       std::span<const std::string_view> command) {
  auto begun = Conversation::begin(remote);
  if (!begun) return begun.error();
  Conversation conversation = std::move(begun).value();
  return conversation.ask(command);
}

void add_options(CLI::App& command, Remote& remote) {
  command.add_option("--server", remote.address);
  command.add_option("--password-file", remote.password_file)->type_name("FILE");
  command.add_option("--tls-ca", remote.tls_ca)->type_name("FILE");
  command.add_option("--tls-cert", remote.tls_certificate)->type_name("FILE");
  command.add_option("--tls-key", remote.tls_key)->type_name("FILE");
}

}  // namespace weir::cli
