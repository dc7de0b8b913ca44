// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/text: turns names, paths, sizes, ranks and plans into text for the window. Start with toText(),
// which makes foreign bytes safe to show.

#include "core/base/error.h"
#include "core/base/finding.h"
#include "core/layout/counts.h"

#include <QString>

#include <cstdint>
#include <string_view>

namespace shardscope::ui {

/// Foreign bytes as text that is safe to show: invalid UTF-8 becomes U+FFFD, control characters their picture
/// (␊), bidirectional overrides U+FFFD, so that a name cannot disguise itself.
QString toText(std::string_view bytes);
/// The same for paths.
QString pathText(const io::Path& path);
io::Path toPath(const QString& text);

QString bytesText(uint64_t bytes); ///< "12.3 MiB"
QString exactBytesText(uint64_t bytes); ///< "12,897,484 bytes"
QString countText(uint64_t count); ///< "1,234,567"
QString shortCountText(uint64_t count); ///< "1.2 M", "3.4 B"; exact below 10,000
QString parametersText(uint64_t count); ///< "1 parameter", "1,234 parameters"
QString filesText(uint64_t count); ///< "1 file", "12 files"
/// "22 parameters with 3,397 elements, 2 frozen, 3 shared, 1 buffer"
QString parametersText(const ParameterCounts& counts);
QString percentText(double share); ///< "12.3 %", "< 0.1 %"

QString kindText(CheckpointKind kind); ///< "ZeRO-3"
QString roleText(FileRole role); ///< "Optimizer states"
QString statusText(FileStatus status); ///< "not yet read"
QString roleText(ParamRole role); ///< "trainable"
/// "ZeRO-3 · 4 ranks · bf16"
QString titleText(const Checkpoint& checkpoint);
/// Tag and run, "global_step100 – llama"; of files without them, the name of what was opened.
QString checkpointName(const Checkpoint& checkpoint, const io::Path& opened);
/// "group 1", "group 0 · sub-group 12", "frozen, partitioned"
QString unitText(const FlatUnit& unit);
/// The ranks of the unit, if several units have this number: "pp 1 · tp 0", "ep 1"; else empty.
QString holderText(const Checkpoint& checkpoint, const FlatUnit& unit);
/// The unit with its holder: "group 0 · pp 1".
QString heldUnitText(const Checkpoint& checkpoint, const FlatUnit& unit);
QString severityText(Severity severity);
/// Message, path and hint as lines.
QString errorText(const Error& error);
/// A sentence of core for the window: begins with a capital; `back quotes` for a terminal become “quotation
/// marks”.
QString sentenceText(std::string_view sentence);
/// A line of evidence, which may be a name: with typographic quotes, and not capitalised.
QString factText(std::string_view fact);
QString durationText(double seconds); ///< "3 min 20 s"

} // namespace shardscope::ui
