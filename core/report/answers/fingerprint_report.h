// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/partial_fingerprint.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

namespace shardscope {

/// What was digested: the checkpoint of the context, or what became of it when its slices were joined.
struct FingerprintSubject {
    const AnswerContext& context;
    const CheckpointPtr& checkpoint;
    bool joined = false; ///< slices and stages as one
    bool perParameter = false;
};

/// The answer of `fingerprint`.
void writeFingerprintJson(
    const TextSink& sink, const FingerprintSubject& subject, const StateFingerprint& fingerprint);
void writeFingerprintText(const TextSink& sink, const TextStyle& style, const FingerprintSubject& subject,
    const StateFingerprint& fingerprint);

/// Where a partial answer comes from: a checkpoint, or answers that were combined.
struct PartialSubject {
    const AnswerContext* context = nullptr;
    std::vector<std::string> combined; ///< files, as they were given
};

/// The answer of `fingerprint --partial` and `fingerprint --combine`; parsePartial() reads it.
void writePartialJson(
    const TextSink& sink, const PartialSubject& subject, const PartialFingerprint& fingerprint);
void writePartialText(const TextSink& sink, const TextStyle& style, const PartialSubject& subject,
    const PartialFingerprint& fingerprint);

} // namespace shardscope
