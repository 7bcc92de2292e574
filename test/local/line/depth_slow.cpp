#include "test/local/line/depth.hpp"

namespace weir::line_laws {

extern const Depth depths{.lasting = 5, .changing = 5, .drawn = 150'000};

}  // namespace weir::line_laws
