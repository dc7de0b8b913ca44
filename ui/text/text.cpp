// SPDX-License-Identifier: Apache-2.0
#include "ui/text/text.h"

#include "core/base/text.h"
#include "ui/text/window_words.h"

#include <QLocale>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

bool isDirectionMark(char16_t unit)
{
    return (unit >= 0x202A && unit <= 0x202E) || (unit >= 0x2066 && unit <= 0x2069) || unit == 0x200E
        || unit == 0x200F || unit == 0x061C;
}

QString scaled(double value, const QString& unit)
{
    return QLocale::c().toString(value, 'f', value < 100 ? 1 : 0) % u' ' % unit;
}

/// Saved without ZeRO and without the optimizer, as some releases do.
bool isTorchWithoutStates(const Checkpoint& checkpoint)
{
    return checkpoint.kind == CheckpointKind::Torch && checkpoint.fullyRead && !checkpoint.params.empty()
        && checkpoint.units.empty();
}

} // namespace

QString toText(std::string_view bytes)
{
    QString text = QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size()));
    for (QChar& character : text) {
        const char16_t unit = character.unicode();
        if (unit < 0x20)
            character = QChar(static_cast<char16_t>(0x2400 + unit));
        else if (unit == 0x7F)
            character = QChar(u'\u2421');
        else if ((unit >= 0x80 && unit < 0xA0) || unit == 0x2028 || unit == 0x2029 || isDirectionMark(unit))
            character = QChar(QChar::ReplacementCharacter);
    }
    return text;
}

QString pathText(const io::Path& path)
{
    return toText(path.native());
}

io::Path toPath(const QString& text)
{
    return io::Path(text.toStdString());
}

QString bytesText(uint64_t bytes)
{
    return QString::fromStdString(formatBytes(bytes));
}

QString exactBytesText(uint64_t bytes)
{
    return u"%1 bytes"_s.arg(countText(bytes));
}

QString countText(uint64_t count)
{
    return QString::fromStdString(formatCount(count));
}

QString shortCountText(uint64_t count)
{
    const auto value = static_cast<double>(count);
    if (count < 10'000)
        return countText(count);
    if (value < 1e6)
        return scaled(value / 1e3, u"k"_s);
    if (value < 1e9)
        return scaled(value / 1e6, u"M"_s);
    if (value < 1e12)
        return scaled(value / 1e9, u"B"_s);
    return scaled(value / 1e12, u"T"_s);
}

QString percentText(double share)
{
    if (share > 0 && share < 0.001)
        return u"< 0.1 %"_s;
    return QLocale::c().toString(share * 100, 'f', 1) % u" %"_s;
}

QString kindText(CheckpointKind kind)
{
    switch (kind) {
    case CheckpointKind::Fp16:
        return u"FP16_Optimizer, no ZeRO"_s;
    case CheckpointKind::Fp16Unfused:
        return u"FP16_UnfusedOptimizer, no ZeRO"_s;
    case CheckpointKind::Torch:
        return u"plain torch optimizer"_s;
    case CheckpointKind::Universal:
        return u"universal checkpoint"_s;
    case CheckpointKind::Swap:
        return u"NVMe swap folder"_s;
    case CheckpointKind::Weights:
        return u"weights only"_s;
    case CheckpointKind::Dcp:
        return u"PyTorch distributed checkpoint"_s;
    case CheckpointKind::Unknown:
        return u"unknown kind"_s;
    default:
        return toText(traitsOf(kind).title); // a name of DeepSpeed
    }
}

QString roleText(FileRole role)
{
    switch (role) {
    case FileRole::ModelStates:
        return u"Model states"_s;
    case FileRole::OptimStates:
        return u"Optimizer states"_s;
    case FileRole::LayerStates:
        return u"Layer states"_s;
    case FileRole::ExpertStates:
        return u"Expert states"_s;
    case FileRole::Pointer:
        return u"Pointer"_s;
    case FileRole::Script:
        return u"Script"_s;
    case FileRole::Manifest:
        return u"Manifest"_s;
    case FileRole::Swap:
        return u"Swap"_s;
    case FileRole::Other:
        break;
    }
    return u"Other"_s;
}

QString statusText(FileStatus status)
{
    switch (status) {
    case FileStatus::Ok:
        return u"ok"_s;
    case FileStatus::Missing:
        return u"missing"_s;
    case FileStatus::Damaged:
        return u"damaged"_s;
    case FileStatus::Stale:
        return u"stale"_s;
    case FileStatus::Foreign:
        return u"foreign"_s;
    case FileStatus::NotYetRead:
        break;
    }
    return u"not yet read"_s;
}

QString roleText(ParamRole role)
{
    switch (role) {
    case ParamRole::Frozen:
        return u"frozen"_s;
    case ParamRole::Buffer:
        return u"buffer"_s;
    case ParamRole::Trainable:
        break;
    }
    return u"trainable"_s;
}

QString titleText(const Checkpoint& checkpoint)
{
    QString title
        = isTorchWithoutStates(checkpoint) ? u"no ZeRO · weights only"_s : kindText(checkpoint.kind);
    if (isUnknown(checkpoint.kind))
        return title;
    const uint32_t ranks = checkpoint.parallel.ranks();
    if (!isUniversal(checkpoint.kind)) // any number of ranks loads it
        title += u" · "_s % (ranks == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(countText(ranks)));
    if (!checkpoint.precision.empty())
        title += u" · "_s % toText(checkpoint.precision);
    return title;
}

QString checkpointName(const Checkpoint& checkpoint, const io::Path& opened)
{
    QStringList parts;
    if (!checkpoint.tag.empty())
        parts.append(toText(checkpoint.tag));
    if (!checkpoint.runFolder.filename().empty())
        parts.append(pathText(checkpoint.runFolder.filename()));
    return parts.isEmpty() ? pathText(opened.filename()) : parts.join(u" – "_s);
}

QString unitText(const FlatUnit& unit)
{
    if (unit.kind == UnitKind::Frozen)
        return u"frozen, partitioned"_s;
    const bool isSplit = unit.partition.ranks() > 1;
    if (unit.kind == UnitKind::Whole && unit.group < 0)
        return isSplit ? u"tensor split by rows"_s : u"whole tensor"_s;
    QString text = u"group %1"_s.arg(unit.group);
    if (unit.kind == UnitKind::Whole)
        text += u" · "_s % (isSplit ? u"tensors split by rows"_s : u"whole tensors"_s);
    if (unit.subgroup)
        text += u" · "_s % u"sub-group %1"_s.arg(*unit.subgroup);
    return text;
}

QString holderText(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    QStringList parts;
    const RankCoordinate& place = checkpoint.partOf(unit).place;
    if (checkpoint.parallel.pp > 1)
        parts << u"pp %1"_s.arg(place.pp);
    if (checkpoint.parallel.tp > 1)
        parts << u"tp %1"_s.arg(place.tp);
    if (unit.rankStride > 1)
        parts << u"ep %1"_s.arg(unit.firstRank);
    else if (unit.isFlat() && unit.partition.ranks() > 0 && unit.partition.ranks() < checkpoint.parallel.dp
        && checkpoint.parallel.ep > 1)
        parts << u"ep %1"_s.arg(unit.firstRank / unit.partition.ranks());
    return parts.join(u" · "_s);
}

QString heldUnitText(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    const QString holder = holderText(checkpoint, unit);
    return holder.isEmpty() ? unitText(unit) : unitText(unit) % u" · "_s % holder;
}

QString severityText(Severity severity)
{
    switch (severity) {
    case Severity::Error:
        return u"Error"_s;
    case Severity::Warning:
        return u"Warning"_s;
    case Severity::Info:
        break;
    }
    return u"Info"_s;
}

QString errorText(const Error& error)
{
    QString text = sentenceText(error.message);
    if (!error.path.empty())
        text += u'\n' % toText(error.path);
    if (!error.hint.text.empty())
        text += u'\n' % sentenceText(error.hint.text);
    return text;
}

QString factText(std::string_view fact)
{
    QString text = toText(fact);
    for (qsizetype open = text.indexOf(u'`'); open >= 0; open = text.indexOf(u'`', open + 1)) {
        const qsizetype close = text.indexOf(u'`', open + 1);
        if (close < 0)
            break;
        text[open] = u'\u201C';
        text[close] = u'\u201D';
    }
    return text;
}

QString sentenceText(std::string_view sentence)
{
    QString text = factText(windowWords(sentence));
    // Only plain words: "the file…" becomes "The file…", "argparse.Namespace…" stays what it is.
    const QString word = text.section(u' ', 0, 0);
    if (!word.isEmpty()
        && std::all_of(word.begin(), word.end(), [](QChar letter) { return letter.isLower(); }))
        text[0] = text[0].toUpper();
    return text;
}

QString parametersText(uint64_t count)
{
    return count == 1 ? u"1 parameter"_s : u"%1 parameters"_s.arg(countText(count));
}

QString filesText(uint64_t count)
{
    return count == 1 ? u"1 file"_s : u"%1 files"_s.arg(countText(count));
}

QString parametersText(const ParameterCounts& counts)
{
    QStringList parts{
        u"%1 with %2 elements"_s.arg(parametersText(counts.count), shortCountText(counts.elements))};
    if (counts.frozen > 0)
        parts.append(u"%1 frozen"_s.arg(countText(counts.frozen)));
    if (counts.shared > 0)
        parts.append(u"%1 shared"_s.arg(countText(counts.shared)));
    if (counts.buffers > 0)
        parts.append(counts.buffers == 1 ? u"1 buffer"_s : u"%1 buffers"_s.arg(countText(counts.buffers)));
    return parts.join(u", "_s);
}

QString durationText(double seconds)
{
    constexpr double kLongest = 1e12; // what another host says can be any number
    const auto whole = seconds > 0 ? static_cast<int64_t>(std::min(seconds, kLongest) + 0.5) : int64_t{0};
    if (whole < 60)
        return u"%1 s"_s.arg(whole);
    if (whole < 3600)
        return u"%1 min %2 s"_s.arg(whole / 60).arg(whole % 60);
    return u"%1 h %2 min"_s.arg(whole / 3600).arg(whole % 3600 / 60);
}

} // namespace shardscope::ui
