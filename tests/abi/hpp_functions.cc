// fusebox.hpp with all of its functions kept, used or not: hpp_functions.sh reads what they call.
#include "fusebox/fusebox.hpp"
