#include "server/store_health.hpp"

namespace weir::server {

using redis::TroubleKind;

void StoreHealth::answered() {
  if (tell(Told::answers)) log_.write(LogKind::store_answers);
}

void StoreHealth::failed(const redis::Trouble& trouble) {
  if (trouble.kind == TroubleKind::refused) {
    log_.write(LogKind::store_refused, {{"reason", trouble.message}});
    return answered();
  }
  if (!tell(Told::gone)) return;
  log_.write(LogKind::store_gone,
             {{"kind", redis::name(trouble.kind)}, {"reason", trouble.message}});
}

}  // namespace weir::server
