// What a command's callback leaves as the program's exit status.
#pragma once

namespace tally::app {

// 0 unless set: commands set 1 (ErrorCode::Failed) for "the work itself found a failure".
int& exit_status();

}  // namespace tally::app
