// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_findings.h"

#include "core/far/far_path.h"
#include "core/layout/present_elements.h"
#include "ui/tensorview/number_format.h"
#include "ui/text/text.h"

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kStepBytes = uint64_t{1} << 20;
constexpr double kMostlyZero = 0.5;
constexpr double kLargestHalf = 65504; ///< float16's largest value

/// Second moments are sums of squares.
bool isSecondMoment(const std::string& state)
{
    return state == "exp_avg_sq" || state == "sum" || state == "square_avg";
}

QString oddWords(const QString& what, uint64_t count, bool exact, const std::optional<uint64_t>& first,
    const TensorSource& source)
{
    const QString words = (exact ? QString() : u"≈ "_s) % countText(count) % u' ' % what;
    return first ? u"%1, first at %2"_s.arg(words, source.indexText(*first)) : words;
}

/// "tp0.pp1" → "tp 0 · pp 1"
QString placeWords(const std::string& suffix)
{
    QString out;
    for (const char letter : suffix) {
        const QChar next = QLatin1Char(letter);
        if (next == u'.')
            out += u" · "_s;
        else if (next.isDigit() && !out.isEmpty() && out.back().isLetter())
            out += u' ' % QString(next);
        else
            out += next;
    }
    return out;
}

/// How many elements were compared, if all of them that both have are equal; those that one of them lacks are
/// left out. Nothing if some differ.
std::optional<uint64_t> equalElements(
    io::FileSystem& files, const TensorSource& a, const TensorSource& b, const std::stop_token& token)
{
    const uint64_t item = a.itemBytes();
    const uint64_t step = std::max<uint64_t>(kStepBytes / item, 1);
    uint64_t compared = 0;
    std::vector<uint8_t> first;
    std::vector<uint8_t> second;
    for (uint64_t begin = 0; begin < a.elements && !token.stop_requested(); begin += step) {
        const uint64_t end = std::min(begin + step, a.elements);
        first.assign((end - begin) * item, 0);
        second.assign((end - begin) * item, 0);
        const auto lostHere
            = readPresentElements(files, *a.checkpoint, {a.param, a.state, begin, end}, first);
        const auto lostThere
            = readPresentElements(files, *b.checkpoint, {b.param, b.state, begin, end}, second);
        if (!lostHere || !lostThere)
            continue;
        std::vector<bool> lost(end - begin, false);
        for (const auto* ranges : {&*lostHere, &*lostThere})
            for (const auto& [from, to] : *ranges)
                std::fill(lost.begin() + static_cast<ptrdiff_t>(from - begin),
                    lost.begin() + static_cast<ptrdiff_t>(to - begin), true);
        for (uint64_t i = 0; i < end - begin; ++i) {
            if (lost[i])
                continue;
            const auto at = static_cast<ptrdiff_t>(i * item);
            if (!std::equal(first.begin() + at, first.begin() + at + static_cast<ptrdiff_t>(item),
                    second.begin() + at))
                return std::nullopt;
            ++compared;
        }
    }
    return compared;
}

/// Slices of a matrix may be of other sizes.
bool isLike(const TensorSource& copy, const TensorSource& source)
{
    return copy.dtype == source.dtype && copy.shape == source.shape;
}

} // namespace

std::vector<TensorSourcePtr> copiesOf(const TensorSource& source)
{
    const Checkpoint& checkpoint = *source.checkpoint;
    const std::string& name = checkpoint.params[index(source.param)].name;
    const size_t colon = name.rfind(':');
    std::vector<TensorSourcePtr> out;
    if (checkpoint.parts.empty() || colon == std::string::npos)
        return out;
    const std::string base = name.substr(0, colon + 1);
    for (const auto& part : checkpoint.parts) {
        const std::string tp = "tp" + std::to_string(part->place.tp);
        const std::string pp = "pp" + std::to_string(part->place.pp);
        for (const std::string& suffix : {tp, tp + "." + pp, pp}) {
            const auto param = checkpoint.findParam(base + suffix);
            const bool isNew = param && *param != source.param
                && std::none_of(
                    out.begin(), out.end(), [&](const auto& each) { return each->param == *param; });
            if (auto copy = isNew ? TensorSource::make(source.checkpoint, *param, source.state) : nullptr)
                out.push_back(std::move(copy));
        }
    }
    return out;
}

QString compareCopies(io::FileSystem& files, const TensorSource& source, const std::stop_token& token)
{
    QStringList same;
    uint64_t compared = source.elements;
    for (const TensorSourcePtr& copy : copiesOf(source)) {
        if (!isLike(*copy, source) || token.stop_requested())
            continue;
        const auto equal = equalElements(files, source, *copy, token);
        if (!equal || *equal == 0)
            continue;
        compared = std::min(compared, *equal);
        same.append(placeWords(copy->name.substr(copy->name.rfind(':') + 1)));
    }
    if (same.isEmpty() || token.stop_requested())
        return {};
    return compared == source.elements
        ? u"Identical to %1: all %2 elements were compared."_s.arg(same.join(u", "_s), countText(compared))
        : u"Identical to %1 as far as both can be read: %2 of %3 elements were compared."_s.arg(
            same.join(u", "_s), countText(compared), countText(source.elements));
}

FirstOdd findFirstOdd(
    io::FileSystem& files, const TensorSource& source, bool nan, bool infinite, const std::stop_token& token)
{
    FirstOdd out;
    std::vector<uint8_t> bytes;
    const uint64_t item = source.itemBytes();
    const uint64_t step = std::max<uint64_t>(kStepBytes / item, 1);
    for (uint64_t begin = 0; begin < source.elements && (nan || infinite); begin += step) {
        if (token.stop_requested())
            return out;
        const uint64_t end = std::min(begin + step, source.elements);
        bytes.assign((end - begin) * item, 0); // missing elements count as zeros
        if (!readPresentElements(files, *source.checkpoint, {source.param, source.state, begin, end}, bytes))
            continue;
        for (uint64_t i = begin; i < end && (nan || infinite); ++i) {
            const double value = elementAsDouble(source.dtype, bytes.data() + (i - begin) * item);
            if (nan && std::isnan(value)) {
                out.nan = i;
                nan = false;
            }
            if (infinite && std::isinf(value)) {
                out.infinite = i;
                infinite = false;
            }
        }
    }
    return out;
}

QString notLookedFor(const TensorSource& source, const TensorStatistics& statistics)
{
    const Statistics& found = statistics.found;
    QStringList what;
    if (found.nans > 0)
        what.append(u"the first NaN"_s);
    if (found.infinities > 0)
        what.append(u"the first infinite value"_s);
    const auto isCopy = [&](const TensorSourcePtr& copy) { return isLike(*copy, source); };
    if (statistics.exact && source.elements > 0 && std::ranges::any_of(copiesOf(source), isCopy))
        what.append(u"identical copies on other ranks"_s);
    if (what.isEmpty())
        return {};
    const auto far = far::farPathOf(source.checkpoint->tagFolder);
    return u"Not looked for: %1. The values are on %2."_s.arg(
        what.join(u", "_s), far ? toText(far->host) : u"another host"_s);
}

std::vector<std::pair<QString, QString>> statisticFacts(const TensorStatistics& statistics)
{
    const Statistics& found = statistics.found;
    const QString about = statistics.exact ? QString() : u"≈ "_s;
    const bool finite = found.finite() > 0;
    const auto number = [&](double value) { return finite ? QString(about % shortNumber(value)) : u"–"_s; };
    const auto count = [&](uint64_t value) {
        if (statistics.exact || found.elements == 0)
            return countText(value);
        const double share = static_cast<double>(value) / static_cast<double>(found.elements);
        return QString(about % percentText(share));
    };
    // The extremes of a sample are true values, but not the extremes.
    return {{u"Min"_s, number(found.min)}, {u"Max"_s, number(found.max)}, {u"Mean"_s, number(found.mean)},
        {u"Std"_s, number(found.std())}, {u"L2 norm"_s, statistics.exact ? number(found.l2()) : u"–"_s},
        {u"Mean |x|"_s, number(finite ? found.magnitudes / static_cast<double>(found.finite()) : 0)},
        {u"Zeros"_s, count(found.zeros)}, {u"NaN"_s, count(found.nans)},
        {u"Infinite"_s, count(found.infinities)}};
}

QStringList healthWords(const TensorSource& source, const TensorFindings& findings)
{
    const TensorStatistics& statistics = findings.statistics;
    const Statistics& found = statistics.found;
    const bool exact = statistics.exact;
    QStringList words;
    if (statistics.missing > 0)
        words.append(u"%1 elements cannot be read"_s.arg(countText(statistics.missing)));
    if (found.nans > 0)
        words.append(oddWords(u"NaN"_s, found.nans, exact, findings.first.nan, source));
    if (found.infinities > 0)
        words.append(oddWords(u"infinite"_s, found.infinities, exact, findings.first.infinite, source));
    const uint64_t finite = found.finite();
    if (finite == 0)
        return words;
    if (found.zeros == found.elements)
        words.append(exact ? u"all zeros"_s : u"all sampled values are zero"_s);
    else if (found.min == found.max && found.elements > 1)
        words.append(u"all values are %1"_s.arg(shortNumber(found.min)));
    else if (static_cast<double>(found.zeros) > kMostlyZero * static_cast<double>(found.elements))
        words.append(u"%1 of the values are zero"_s.arg(
            percentText(static_cast<double>(found.zeros) / static_cast<double>(found.elements))));
    if (isSecondMoment(source.state) && found.min < 0)
        words.append(u"negative values, which a second moment cannot have"_s);
    if (source.dtype == DType::Float16 && std::max(std::abs(found.min), std::abs(found.max)) >= kLargestHalf)
        words.append(u"values at float16's limit"_s);
    return words;
}

} // namespace shardscope::ui
