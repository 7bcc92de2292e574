#include "cli/remote.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <chrono>

#include "wire/resp_request.hpp"

namespace weir::cli {

Expected<wire::Reply, RemoteError> ask(const std::string& server,
                                       std::span<const std::string_view> command) {
  const std::size_t colon = server.rfind(':');
  if (colon == std::string::npos) {
    return RemoteError{"--server expects HOST:PORT, such as 127.0.0.1:7379; got '" + server + "'"};
  }
  constexpr std::chrono::seconds patience{2};
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(patience);
  stream.connect(server.substr(0, colon), server.substr(colon + 1));
  if (!stream) {
    return RemoteError{"no server answers at " + server + " (" + stream.error().message() +
                       "); start one with: weir serve"};
  }
  std::string request;
  wire::write_request(request, command);
  stream.expires_after(patience);
  stream.write(request.data(), static_cast<std::streamsize>(request.size())).flush();

  wire::ReplyReader reader;
  wire::Reply reply;
  while (stream.peek() != std::char_traits<char>::eof()) {
    std::string bytes(static_cast<std::size_t>(stream.rdbuf()->in_avail()), '\0');
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const wire::ReadReply read = reader.read(bytes, reply);
    if (read.status == wire::ReadStatus::complete) return reply;
    if (read.status == wire::ReadStatus::malformed) {
      return RemoteError{server + " does not speak RESP: " + wire::describe(read.fault)};
    }
  }
  return RemoteError{server + " gave no answer: " + stream.error().message()};
}

}  // namespace weir::cli
