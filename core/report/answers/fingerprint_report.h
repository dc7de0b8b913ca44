// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/partial_fingerprint.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// What was digested: the checkpoint of the context, or the same with its slices merged.
struct FingerprintSubject {
    const AnswerContext& context;
    const CheckpointPtr& checkpoint;
    bool merged = false; ///< slices and stages were merged
    bool perParameter = false;
};

/// The answer of `fingerprint`.
void writeFingerprintJson(
    const TextSink& sink, const FingerprintSubject& subject, const StateFingerprint& fingerprint);
std::string fingerprintSchema();
void writeFingerprintText(const TextSink& sink, const TextStyle& style, const FingerprintSubject& subject,
    const StateFingerprint& fingerprint);

/// The source of a partial answer: a checkpoint, or combined answers.
struct PartialSubject {
    const AnswerContext* context = nullptr;
    std::vector<std::string> combined; ///< paths as given
};

/// The answer of `fingerprint --partial` and `fingerprint --combine`.
void writePartialJson(
    const TextSink& sink, const PartialSubject& subject, const PartialFingerprint& fingerprint);
/// Reads it. Damaged if the text is not one; Unsupported if a later release wrote it.
/// What writeFingerprintJson() has written; it can be anybody's text. Without what was read and the digests
/// of tensors. Hostile if it is no whole fingerprint of this build's version.
Result<StateFingerprint> parseFingerprint(std::string_view json);
Result<PartialFingerprint> parsePartial(const std::string& text, const std::string& path);
void writePartialText(const TextSink& sink, const TextStyle& style, const PartialSubject& subject,
    const PartialFingerprint& fingerprint);

} // namespace shardscope
