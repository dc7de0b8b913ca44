// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_findings.h"

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

} // namespace

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
