// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/save_file.h"
#include "ui/models/parameters/parameter_index.h"

#include <QString>

namespace shardscope::ui {

/// The rows of the parameter table, as they are shown.
struct ParameterTable {
    ParameterIndexPtr index;
    std::vector<ParamId> rows; ///< filtered and sorted
    QString filter; ///< as it was typed
    io::Path path; ///< of the checkpoint, as it was opened
};

/// Writes *.json as the answer of `shardscope params --json` with these parameters, all else as CSV
/// (core/report/text/csv_row.h): a line for each row, numbers exact, fields that do not apply empty. Returns
/// why it could not be written; empty if it was. Slow: for a worker.
QString writeParameterTable(const ParameterTable& table, const SaveTarget& target);

} // namespace shardscope::ui
