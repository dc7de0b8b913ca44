// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <string>

namespace shardscope {

/// The tag's folder in a further root: a folder in it, or the root itself.
io::Path tagFolderIn(const Reading& reading, const io::Path& root);
/// Lists the tag folder and the roots. Gives every file its role and rank. markExpectedFiles() adds the files
/// that are expected but absent.
Status buildFileTable(Reading& reading);
/// Fills optimFiles and modelFiles for `worldSize` ranks. Adds missing entries, marks stale ones and reports
/// both in findings.
void markExpectedFiles(Reading& reading, bool zero3);
/// The same for the model files of ZeRO-3 alone.
void markExpectedModelFiles(Reading& reading);

/// Marks a file that this checkpoint does not need as Stale, and adds a finding with the reason.
void markUnneeded(const Reading& reading, FileId file, std::string why);

} // namespace shardscope
