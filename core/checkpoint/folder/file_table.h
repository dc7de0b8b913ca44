// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <string>

namespace shardscope {

/// The tag's folder in a further root: below it, or the root itself.
io::Path tagFolderIn(const Reading& reading, const io::Path& root);
/// Lists tag folder and roots, gives every file its role and rank. Expected but absent files come with
/// markExpectedFiles().
Status buildFileTable(Reading& reading);
/// Fills optimFiles and modelFiles for `worldSize` ranks: adds missing entries, marks stale ones, says so in
/// findings.
void markExpectedFiles(Reading& reading, bool zero3);
/// The same for the model files of ZeRO-3 alone.
void markExpectedModelFiles(Reading& reading);

/// A file that this checkpoint does not need becomes Stale, with a finding that says why.
void markUnneeded(const Reading& reading, FileId file, std::string why);

} // namespace shardscope
