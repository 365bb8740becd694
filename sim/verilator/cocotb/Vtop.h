// The name under which cocotb's main program includes the model.
#include "../model.h"
