#include "test/local/line/depth.hpp"

namespace weir::line_laws {

extern const Depth depths{.lasting = 3, .changing = 3, .drawn = 1'500};

}  // namespace weir::line_laws
