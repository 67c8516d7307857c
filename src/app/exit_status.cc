#include "app/exit_status.h"

namespace tally::app {

int& exit_status() {
  static int status = 0;
  return status;
}

}  // namespace tally::app
