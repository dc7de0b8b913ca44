// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/stats_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

ValueHistogram::Bars barsOf(const TensorStatistics& tensor, uint32_t atMost)
{
    if (tensor.found.finite() == 0)
        return {};
    return tensor.histogram.bars(tensor.found.min, tensor.found.max, atMost);
}

class Json final : public StatsReport
{
public:
    Json(TextSink sink, const AnswerContext& context, const StatsReportOptions& options)
        : m_sink(std::move(sink))
        , m_json(m_sink)
        , m_context(context)
        , m_options(options)
    {
        beginAnswer(m_json, "stats", context);
        m_json.arrayField("tensors");
    }

    void add(const TensorStatistics& tensor) override
    {
        const Statistics& found = tensor.found;
        m_json.beginObject();
        m_json.nameField("name", m_context.checkpoint.params[index(tensor.tensor.param)].name);
        m_json.field("state", tensor.tensor.state);
        m_json.field("dtype", dtypeName(tensor.dtype));
        m_json.field("elements", tensor.elements);
        m_json.field("exact", tensor.exact);
        m_json.field("read", found.elements);
        m_json.field("missing", tensor.missing);
        number("min", found.min);
        number("max", found.max);
        number("mean", found.mean);
        number("std", found.std());
        number("l1", found.magnitudes);
        number("l2", found.l2());
        m_json.field("zeros", found.zeros);
        m_json.field("nan", found.nans);
        m_json.field("inf", found.infinities);
        if (m_options.bars > 0)
            histogram(tensor);
        m_json.endObject();
    }

    void end() override
    {
        m_json.endArray();
        writeFindings(m_json, "findings", m_context.checkpoint.findings);
        writeCompute(m_json, m_context);
        endAnswer(m_json, m_sink);
    }

private:
    /// For finite values; null if there are none.
    void number(std::string_view name, double value)
    {
        if (value - value == 0)
            m_json.field(name, value);
        else
            m_json.nullField(name);
    }

    void histogram(const TensorStatistics& tensor)
    {
        const auto bars = barsOf(tensor, m_options.bars);
        m_json.objectField("histogram");
        m_json.arrayField("edges");
        for (const double edge : bars.edges)
            m_json.value(edge);
        m_json.endArray();
        m_json.arrayField("counts");
        for (const uint64_t count : bars.counts)
            m_json.value(count);
        m_json.endArray();
        m_json.arrayField("octaves");
        for (const ValueHistogram::Octave& octave : tensor.histogram.octaves()) {
            m_json.beginObject();
            m_json.field("exponent", octave.exponent);
            m_json.field("count", octave.count);
            m_json.endObject();
        }
        m_json.endArray();
        m_json.endObject();
    }

    TextSink m_sink;
    JsonWriter m_json;
    const AnswerContext& m_context;
    StatsReportOptions m_options;
};

class Text final : public StatsReport
{
public:
    Text(TextSink sink, const TextStyle& style, const AnswerContext& context,
        const StatsReportOptions& options)
        : m_sink(std::move(sink))
        , m_style(style)
        , m_context(context)
        , m_options(options)
        , m_table({{"name"}, {"state"}, {"elements", Align::Right}, {"min", Align::Right},
              {"max", Align::Right}, {"mean", Align::Right}, {"std", Align::Right}, {"l2", Align::Right},
              {"zeros", Align::Right}, {"nan", Align::Right}, {"inf", Align::Right},
              {"missing", Align::Right}})
    {
    }

    void add(const TensorStatistics& tensor) override
    {
        const Statistics& found = tensor.found;
        const bool any = found.finite() > 0;
        const auto number = [&](double value) { return any ? fmt::format("{:.4g}", value) : "-"; };
        const std::string& name = m_context.checkpoint.params[index(tensor.tensor.param)].name;
        m_table.add({name, tensor.tensor.state, (tensor.exact ? "" : "~ ") + formatCount(tensor.elements),
            number(found.min), number(found.max), number(found.mean), number(found.std()), number(found.l2()),
            formatCount(found.zeros), formatCount(found.nans), formatCount(found.infinities),
            formatCount(tensor.missing)});
        m_sampled = m_sampled || !tensor.exact;
        if (m_options.drawn && m_options.bars > 0)
            draw(tensor, name);
    }

    void end() override
    {
        m_table.write(m_sink, m_style);
        m_sink(m_drawings);
        if (m_sampled)
            m_sink(m_style.dim("~ from a sample; --exact reads every element") + "\n");
    }

private:
    using Align = TextTable::Align;

    void draw(const TensorStatistics& tensor, const std::string& name)
    {
        const auto bars = barsOf(tensor, m_options.bars);
        if (bars.counts.empty())
            return;
        constexpr uint64_t kWidth = 50;
        const uint64_t most = *std::max_element(bars.counts.begin(), bars.counts.end());
        m_drawings += fmt::format("\n{}#{}\n", printable(name), printable(tensor.tensor.state));
        for (size_t i = 0; i < bars.counts.size(); ++i) {
            const double share
                = static_cast<double>(bars.counts[i]) / static_cast<double>(std::max<uint64_t>(most, 1));
            const auto length = static_cast<size_t>(share * static_cast<double>(kWidth) + 0.5);
            m_drawings += fmt::format("  {:>11.4g} … {:<11.4g} {}{} {}\n", bars.edges[i], bars.edges[i + 1],
                std::string(length, '#'), length == 0 && bars.counts[i] > 0 ? "|" : "",
                formatCount(bars.counts[i]));
        }
    }

    TextSink m_sink;
    TextStyle m_style;
    const AnswerContext& m_context;
    StatsReportOptions m_options;
    TextTable m_table;
    std::string m_drawings;
    bool m_sampled = false;
};

} // namespace

std::unique_ptr<StatsReport> statsJson(
    TextSink sink, const AnswerContext& context, const StatsReportOptions& options)
{
    return std::make_unique<Json>(std::move(sink), context, options);
}

std::unique_ptr<StatsReport> statsText(
    TextSink sink, const TextStyle& style, const AnswerContext& context, const StatsReportOptions& options)
{
    return std::make_unique<Text>(std::move(sink), style, context, options);
}

} // namespace shardscope
