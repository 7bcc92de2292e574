#include "server/http/http_context.hpp"

#include "server/asking.hpp"
#include "wire/utf8.hpp"

namespace weir::server {

void write_trouble(WorkerContext&, const redis::Trouble& trouble, const HttpLater& reply) {
  reply.send(problem(503, wire::in_utf8(told(trouble))));
}

}  // namespace weir::server
