// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace shardscope::ui {

/// One zip record of a file and the use of its bytes.
struct RecordLine {
    ZipRecord record;
    std::string usedBy; ///< "fp32 of group 0", "weight of wte.weight and 3 others"; empty if unknown
    UnitId unit = kNoUnit; ///< the flat unit whose state it holds
    ParamId param = kNoParam; ///< the first tensor stored whole in it
};

struct RecordList {
    FileId file = kNoFile;
    std::vector<RecordLine> lines; ///< index = record
    uint64_t maxBytes = 0;
    std::string problem; ///< why there are none
};

/// The records of one file; reads its directory when the checkpoint did not keep it. For a worker thread.
RecordList listRecords(
    io::FileSystem& files, const Checkpoint& checkpoint, FileId file, const std::stop_token& token);

} // namespace shardscope::ui
