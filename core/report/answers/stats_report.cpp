// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/stats_report.h"

#include "core/base/text.h"
#include "core/describe/json_in.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

void describe(auto& out, ConstOr<TensorFacts> auto& tensor)
{
    const About ofFinite = finite("of the finite values; null where there are none");
    out.is("Tensor", "Statistics of one tensor.");
    out.name("name", tensor.name);
    out.field("state", tensor.state);
    out.field("dtype", tensor.dtype);
    out.field("elements", tensor.elements, "of the tensor");
    out.field("exact", tensor.exact, "false: the statistics are of a sample");
    out.field("read", tensor.read, "elements that the statistics cover");
    out.field("missing", tensor.missing, "elements that could not be read");
    out.field("min", tensor.min, ofFinite);
    out.field("max", tensor.max, ofFinite);
    out.field("mean", tensor.mean, ofFinite);
    out.field("std", tensor.std, finite("population standard deviation; null if no value is finite"));
    out.field("l1", tensor.l1, ofFinite);
    out.field("l2", tensor.l2, ofFinite);
    out.field("zeros", tensor.zeros);
    out.field("nan", tensor.nans);
    out.field("inf", tensor.infinities);
}

namespace {

ValueHistogram::Bars barsOf(const TensorStatistics& tensor, uint32_t atMost)
{
    if (tensor.found.finite() == 0)
        return {};
    return tensor.histogram.bars(tensor.found.min, tensor.found.max, atMost);
}

void describeHistogram(auto& out, const TensorStatistics& tensor, const StatsReportOptions& options)
{
    const auto bars = barsOf(tensor, options.bars);
    out.is("Histogram", "Counts between edges.");
    out.field("edges", bars.edges, finite("ascending, one more than counts; nearly equal widths"));
    out.field("counts", bars.counts);
    out.list(
        "octaves", tensor.histogram.octaves(),
        [](auto& each, const ValueHistogram::Octave& octave) {
            each.is("Octave", "Values between two powers of two.");
            each.field("exponent", octave.exponent);
            each.field("count", octave.count);
        },
        "by the exponent of two, of both signs; -127: zeros and values smaller than 2^-126");
}

/// Null where no value is finite.
std::optional<double> ifFinite(double value)
{
    return value - value == 0 ? std::optional(value) : std::nullopt;
}

TensorFacts factsOf(const Checkpoint& checkpoint, const TensorStatistics& tensor)
{
    const Statistics& found = tensor.found;
    return {.name = checkpoint.params[index(tensor.tensor.param)].name,
        .state = tensor.tensor.state,
        .dtype = std::string(dtypeName(tensor.dtype)),
        .elements = tensor.elements,
        .exact = tensor.exact,
        .read = found.elements,
        .missing = tensor.missing,
        .min = ifFinite(found.min),
        .max = ifFinite(found.max),
        .mean = ifFinite(found.mean),
        .std = ifFinite(found.std()),
        .l1 = ifFinite(found.magnitudes),
        .l2 = ifFinite(found.l2()),
        .zeros = found.zeros,
        .nans = found.nans,
        .infinities = found.infinities};
}

void describeTensor(auto& out, const AnswerContext& context, const StatsReportOptions& options,
    const TensorStatistics& tensor)
{
    const TensorFacts facts = factsOf(context.checkpoint, tensor);
    describe(out, facts);
    out.maybe(options.bars > 0, [&] {
        out.object("histogram", [&](auto& histogram) { describeHistogram(histogram, tensor, options); });
    });
}

void describeStart(auto& out, const AnswerContext& context)
{
    out.answer("stats", "StatsAnswer", "Statistics of tensors.");
    describeSubject(out, context);
}

void describeEnd(auto& out, const AnswerContext& context)
{
    out.field("findings", context.checkpoint.findings);
    describeCompute(out, context);
}

constexpr const char* kTensors = "tensors";

class Json final : public StatsReport
{
public:
    Json(TextSink sink, const AnswerContext& context, const StatsReportOptions& options)
        : m_sink(std::move(sink))
        , m_json(m_sink)
        , m_out(m_json)
        , m_context(context)
        , m_options(options)
    {
        m_json.beginObject();
        describeStart(m_out, context);
        m_json.arrayField(kTensors);
    }

    void add(const TensorStatistics& tensor) override
    {
        m_json.beginObject();
        describeTensor(m_out, m_context, m_options, tensor);
        m_json.endObject();
    }

    void end() override
    {
        m_json.endArray();
        describeEnd(m_out, m_context);
        m_json.endObject();
        m_json.finish();
        m_sink("\n");
    }

private:
    TextSink m_sink;
    JsonWriter m_json;
    JsonOut m_out;
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

Result<std::vector<TensorFacts>> parseStats(std::string_view json)
{
    std::string problem;
    std::vector<TensorFacts> out;
    JsonIn in(JsonNode::parse(json), problem);
    in.field(kTensors, out);
    if (!problem.empty())
        return fail(ErrorCode::Hostile, "the statistics of the other host cannot be read: " + problem);
    return out;
}

std::string statsSchema()
{
    return schemaOf("stats", [](SchemaOut& out) {
        describeStart(out, schemaContext());
        out.rows(
            kTensors, Row<TensorStatistics>{}, [](const auto&) {},
            [](auto& each, TensorStatistics tensor) {
                tensor.tensor.param = ParamId{0};
                describeTensor(each, schemaContext(), {}, tensor);
            });
        describeEnd(out, schemaContext());
    });
}

std::unique_ptr<StatsReport> statsText(
    TextSink sink, const TextStyle& style, const AnswerContext& context, const StatsReportOptions& options)
{
    return std::make_unique<Text>(std::move(sink), style, context, options);
}

} // namespace shardscope
