// Boost.JSON itself: Debian's headers come without a library.
#include <boost/json/src.hpp>
