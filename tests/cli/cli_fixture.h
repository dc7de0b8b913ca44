// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace shardscope::test {

using Words = std::vector<std::string>;

/// The checkpoints that stock DeepSpeed wrote.
inline const Words kSampleNames{
    "zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "aligned-w2"};
std::filesystem::path samplePath(const std::string& name);
/// A copy that may be damaged: its run folder inside `folder`.
std::filesystem::path copySample(const std::string& name, const TemporaryFolder& folder);
/// The state of the live engine when the sample was saved.
nlohmann::json sampleTruth(const std::string& name);

/// Runs the built program.
ProcessResult runShardscope(const Words& words, const ProcessOptions& options = {});
/// With --json: checks the exit code, that standard output is one object that fits its schema, and that no
/// property is missing from the schema. Returns the object.
nlohmann::json answerOf(const Words& words, int exitCode = 0);
/// The same for an error object; its code is checked, too.
nlohmann::json errorOf(const Words& words, int exitCode, const std::string& code);
/// Those of a list of findings that have this code.
nlohmann::json findingsOf(const nlohmann::json& findings, const std::string& code);
/// The schema of an answer, or of a saved plan, as the program writes it.
nlohmann::json readSchema(const std::string& name);

/// Names of everything below a folder with the bytes of its files: to see that nothing changed.
std::vector<std::pair<std::string, std::string>> contentOf(const std::filesystem::path& folder);

} // namespace shardscope::test
