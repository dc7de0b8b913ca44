// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/verify.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// The checks that ran, as a list for a sentence; empty if none did.
std::string checkedText(const VerifyReport& report);
/// Why the files were not compared with the manifest, as a sentence without capital and point; empty if they
/// were.
std::string noManifestText(const VerifyReport& report);

/// The answer of `verify`. `against` is the other checkpoint's folder, or empty.
void writeVerifyJson(
    const TextSink& sink, const AnswerContext& context, const VerifyReport& report, std::string_view against);
std::string verifySchema();
/// What writeVerifyJson() has written; it can be anybody's text. Hostile if it is no such answer.
Result<VerifyReport> parseVerify(std::string_view json);
void writeVerifyText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const VerifyReport& report, std::string_view against);

} // namespace shardscope
