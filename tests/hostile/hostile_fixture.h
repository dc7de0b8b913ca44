// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/pickle/pickle_graph.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shardscope::test {

using Words = std::vector<std::string>;

std::filesystem::path samplePath(const std::string& name);
/// A copy of a sample's run folder, to be damaged.
std::filesystem::path copySample(const std::string& name, const TemporaryFolder& folder);

/// Exit codes that the table of bad input asks for, column by column: inspect and files; params, layout and
/// show; verify; the verbs that write.
struct Row {
    int inspect = 0;
    int model = 0;
    int verify = 0;
    int write = 0;
    bool showsValues = true; ///< otherwise `show` has nothing readable to print: 3
};
constexpr Row kNothingHere{3, 3, 3, 3}; ///< no checkpoint, or its only file is not readable
constexpr Row kNoTag{0, 3, 3, 3}; ///< `latest` missing or dangling
constexpr Row kOneFileBad{0, 0, 1, 6}; ///< the rest is readable
constexpr Row kNoValues{0, 0, 1, 6, false}; ///< structure, but none of the requested values
constexpr Row kModelUnreadable{0, 3, 1, 6}; ///< findings, but no names and shapes
constexpr Row kUnsupported{0, 4, 4, 4};
constexpr Row kFine{0, 0, 0, 0};

/// Runs one verb with --json, in this process: its exit code, and what answerOf() asks for. The object.
nlohmann::json runVerb(Words words, int exitCode);
/// What a verb printed with --json: one object, and an error object (schema, code, message) exactly where it
/// failed.
nlohmann::json answerOf(const ProcessResult& result);

/// Every verb on `path` has the exit code of its column, `word` is in what inspect and a refused reshard
/// say, and nothing below `folder` has changed.
void checkRow(const std::filesystem::path& path, const Row& row, const std::string& word,
    const TemporaryFolder& folder);

/// A parameter that every sample has, for `show`.
inline constexpr const char* kKnownParameter = "layers.0.attention.wo.weight";

/// Type, size, times of everything below: equal before and after when nothing was written there.
std::map<std::string, std::string> traceOf(const std::filesystem::path& folder);

/// Opened through core alone, in full. Errors in `error`.
Result<CheckpointPtr> openFull(const std::filesystem::path& path);

/// The records of a torch archive, names without prefix, in order.
NamedRecords recordsOf(const std::filesystem::path& file);
/// Writes them back as torch would, with the prefix that the file's name gives.
void writeRecords(const std::filesystem::path& file, const NamedRecords& records);
std::string& recordIn(NamedRecords& records, const std::string& name);

/// Replaces parts of the file's pickle: `edit` names source nodes and their replacements.
using PickleEdit = std::function<void(const PickleGraph&, PickleBuilder&, PickleImporter&)>;
void editPickle(const std::filesystem::path& file, const PickleEdit& edit);
/// `value` in place of what the keys lead to from the root; the last key may be a new one.
void replaceAt(
    const std::filesystem::path& file, const Words& keys, const std::function<NodeId(PickleBuilder&)>& value);

} // namespace shardscope::test
