// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/far_answer.h"

#include "app/cli/jobs/progress.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/text_file.h"
#include "core/base/text.h"
#include "core/describe/json_in.h"
#include "core/far/far_files.h"
#include "core/report/jobs/jobs_report.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <array>

namespace shardscope::cli {

namespace {

/// Options that are about this process.
constexpr std::array<std::string_view, 7> kOfThisProcess{
    "--json", "--no-color", "--progress", "--log-file", "--no-remote-install", "--copy", "--help"};

bool isOfThisProcess(const Option& option)
{
    return std::ranges::find(kOfThisProcess, option.name) != kOfThisProcess.end();
}

std::vector<Option> allOptions(const Command& command)
{
    std::vector<Option> out = command.options;
    out.insert(out.end(), command.commonOptions.begin(), command.commonOptions.end());
    std::erase_if(out, isOfThisProcess);
    return out;
}

/// Puts the words together. Fails where the command has to run here.
class Relay
{
public:
    explicit Relay(const Parsed& parsed)
        : m_parsed(parsed)
    {
    }

    std::optional<FarWords> take()
    {
        const Arguments& arguments = m_parsed.arguments;
        if (arguments.has("--mpi"))
            return here("--mpi runs on this machine");
        for (size_t i = 1; i < m_parsed.path.size(); ++i)
            m_out.words.push_back(m_parsed.path[i]->name);
        for (const Option& option : allOptions(*m_parsed.command)) {
            for (const std::string& value : arguments.all(option.name)) {
                if (option.kind == ValueKind::Flag)
                    m_out.words.push_back(option.name);
                else if (const auto sent = valueFor(option, value))
                    m_out.words.push_back(option.name + "=" + *sent);
                else
                    return std::nullopt;
            }
        }
        m_out.words.emplace_back("--");
        for (const Positional& positional : m_parsed.command->positionals) {
            for (const std::string& value : arguments.allOf(positional.name)) {
                const auto sent = valueOf(positional.kind, value);
                if (!sent)
                    return std::nullopt;
                m_out.words.push_back(*sent);
            }
        }
        return m_out.host.empty() ? std::nullopt : std::optional(std::move(m_out));
    }

    /// Why take() failed, after "because"; empty for an error, which the command finds here.
    [[nodiscard]] const std::string& whyHere() const { return m_whyHere; }

private:
    std::nullopt_t here(std::string why)
    {
        m_whyHere = std::move(why);
        return std::nullopt;
    }

    std::optional<std::string> valueFor(const Option& option, const std::string& value)
    {
        if (option.kind == ValueKind::File)
            return here(option.name + " is a file of this machine");
        if (option.kind != ValueKind::NewFile)
            return valueOf(option.kind, value);
        if (value == kStandardOutput && m_parsed.arguments.has("--json"))
            return std::nullopt; // an error
        // Values of a tensor are written by position, and two reports would come mixed.
        if (option.name == "--npy")
            return here("--npy writes on this machine");
        if (!m_out.report.empty())
            return here("it writes several files of this machine");
        m_out.report = value;
        return std::string(kStandardOutput);
    }

    std::optional<std::string> valueOf(ValueKind kind, const std::string& value)
    {
        switch (kind) {
        case ValueKind::Path:
        case ValueKind::Folder:
        case ValueKind::NewFolder: {
            const auto far = far::farPathOf(value);
            if (!far || (!m_out.host.empty() && m_out.host != far->host))
                return here("the paths are not all on one host");
            m_out.host = far->host;
            return homeless(*far);
        }
        case ValueKind::File:
            return here("it reads a file of this machine");
        default:
            return value;
        }
    }

    /// The path without "~", which no shell would replace in these words.
    static std::optional<std::string> homeless(const far::FarPath& far)
    {
        const std::string path = far.path.string();
        if (!path.starts_with('~'))
            return path;
        const auto home = far::farAndOwnFiles().canonical(far::farPath(far.host, "~"));
        if (!home)
            return std::nullopt; // the command fails with this error here
        return far::farPathOf(*home)->path.string() + path.substr(1);
    }

    const Parsed& m_parsed;
    FarWords m_out;
    std::string m_whyHere;
};

/// Text of the other host, which may be anybody's, so that it controls no terminal. JSON has no control
/// characters, but names as they are.
std::string harmless(std::string_view text, bool isJson)
{
    std::string out;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        for (size_t i = 0; isJson && i < line.size(); ++i) {
            const auto byte = static_cast<unsigned char>(line[i]);
            const auto after = i + 1 < line.size() ? static_cast<unsigned char>(line[i + 1]) : 0;
            if (byte == 0xc2 && after >= 0x80 && after < 0xa0) { // such as U+009B, which begins a sequence
                out += "\\u00" + toHex(line.substr(++i, 1));
                continue;
            }
            if (byte >= 0x20 && byte != 0x7f)
                out += line[i];
        }
        if (!isJson)
            out += printable(line);
        if (end < text.size())
            out += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// Says that this takes long: a command that needs values, with values from other hosts.
void sayWhatIsSent(const Parsed& parsed, Output& output, const std::string& why)
{
    if (parsed.command->values != Command::Values::Needed || output.quiet() || why.empty())
        return;
    std::vector<std::string> hosts;
    for (const Positional& positional : parsed.command->positionals) {
        for (const std::string& value : parsed.arguments.allOf(positional.name)) {
            const auto far = far::farPathOf(value);
            if (far && std::ranges::find(hosts, far->host) == hosts.end())
                hosts.push_back(far->host);
        }
    }
    std::string names;
    for (const std::string& host : hosts)
        names += (names.empty() ? "" : " and ") + host;
    if (!names.empty())
        output.message("values are read from " + names + " through the connection, because " + why + "\n");
}

constexpr size_t kReportLimit = size_t{256} << 20;
constexpr size_t kAnswerLimit = size_t{4} << 30;

} // namespace

std::optional<FarWords> wordsThere(const Parsed& parsed)
{
    return Relay(parsed).take();
}

FarAnswerShown::FarAnswerShown(Output& output, const Arguments& arguments, bool isWhole)
    : m_output(output)
    , m_progress(progressSink(output, arguments))
    , m_isWhole(isWhole || output.json())
{
}

void FarAnswerShown::take(far::FarQuestion& question)
{
    question.data = [this](std::string_view bytes) { return takeData(bytes); };
    question.file = [this](std::string_view bytes) -> Status {
        if (bytes.size() > kReportLimit - m_report.size())
            return fail(ErrorCode::LimitExceeded, "the report of the other host is too large");
        m_report += bytes;
        return {};
    };
    question.message = [this](std::string_view text) { m_output.message(harmless(text, false)); };
    if (m_progress)
        question.progress = [this](std::string_view json) {
            auto progress = parseProgress(json);
            if (!progress)
                return;
            progress->phase = printable(progress->phase);
            m_progress(*progress);
        };
}

Status FarAnswerShown::takeData(std::string_view bytes)
{
    if (bytes.size() > kAnswerLimit - m_held.size())
        return fail(ErrorCode::LimitExceeded, "the answer of the other host is too large");
    const size_t end = bytes.rfind('\n') + 1; // 0 for none
    if (!m_isWhole && end > 0) {
        m_output.answer()(harmless(m_held.append(bytes.substr(0, end)), false));
        m_held.clear();
        bytes.remove_prefix(end);
    }
    m_held += bytes;
    return {};
}

Status FarAnswerShown::finish()
{
    if (m_output.json() && !JsonNode::isObjectText(m_held))
        return fail(ErrorCode::Damaged, "the answer of the other host is no JSON object");
    m_output.answer()(harmless(m_held, m_output.json()));
    return {};
}

Result<std::optional<int>> answerThere(const Parsed& parsed, Output& output, JobContext& job)
{
    if (!parsed.command->reads || parsed.arguments.has("--bwlimit"))
        return std::nullopt;
    Relay relay(parsed);
    const auto relayed = relay.take();
    if (!relayed) {
        sayWhatIsSent(parsed, output, relay.whyHere());
        return std::nullopt;
    }
    FarAnswerShown shown(output, parsed.arguments, relayed->report == kStandardOutput);
    far::FarQuestion question{.request = {.ask = std::string(serve::ask::kAnswer),
                                  .text = !output.json(),
                                  .host = output.json() ? std::string() : relayed->host},
        .payload = serve::wordsPayload(relayed->words),
        .job = &job};
    shown.take(question);
    SHARDSCOPE_TRY(const far::FarAnswer answer, far::farHost(relayed->host).ask(question));
    if (relayed->report == kStandardOutput && !shown.report().empty()) {
        SHARDSCOPE_CHECK(output.writeFile(shown.report())); // then the answer goes to standard error
    } else if (!shown.report().empty()) {
        const Session session(parsed, output, far::farAndOwnFiles(), job);
        SHARDSCOPE_CHECK(
            writeTextFile(session, relayed->report, shown.report(), parsed.arguments.has("--force")));
    }
    SHARDSCOPE_CHECK(shown.finish());
    return std::optional(*answer.last.exit);
}

} // namespace shardscope::cli
