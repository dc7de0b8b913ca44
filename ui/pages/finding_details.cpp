// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/finding_details.h"

#include "ui/pages/thread_links.h"
#include "ui/session/findings/finding_groups.h"
#include "ui/text/text.h"
#include "ui/widgets/command_line.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/window_fit.h"

#include <QCheckBox>
#include <QDesktopServices>
#include <QLabel>
#include <QResizeEvent>
#include <QScrollBar>
#include <QTextBrowser>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString escaped(std::string_view text)
{
    return toText(text).toHtmlEscaped();
}

QString sentence(std::string_view text)
{
    return sentenceText(text).toHtmlEscaped();
}

/// Remedies are without one: the command line prints them so.
QString withFullStop(std::string_view text)
{
    const QString shown = sentence(text);
    return shown.isEmpty() || shown.endsWith(u'.') ? shown : QString(shown % u'.');
}

/// What the findings mean, as rows of names and texts.
class Meanings
{
public:
    void add(const QString& name, const QString& html)
    {
        if (!html.isEmpty())
            m_rows.append({name, html});
    }
    /// The names are as wide as the longest of them, and the texts have the rest.
    [[nodiscard]] QString table(QFont font) const
    {
        font.setBold(true);
        int width = 0;
        for (const auto& [name, text] : m_rows)
            width = std::max(width, QFontMetrics(font).horizontalAdvance(name));
        QString html = u"<table cellspacing=\"0\" cellpadding=\"3\">"_s;
        for (const auto& [name, text] : m_rows)
            html += u"<tr><td width=\"%1\"><b>%2</b></td><td>%3</td></tr>"_s.arg(
                QString::number(width + kAround), name.toHtmlEscaped(), text);
        return html % u"</table>"_s;
    }

private:
    static constexpr int kAround = 12;

    QList<std::pair<QString, QString>> m_rows;
};

/// The place that a fact of the finding names: one of its parts, or else a file, if it is the name of one.
Place placeNamed(const Finding& finding, const std::string& fact)
{
    const auto part = std::ranges::find_if(finding.parts, [&](const Place& each) {
        return each.text() == fact || (each.param() != nullptr && each.param()->name == fact);
    });
    return part == finding.parts.end() ? Place(fact) : *part;
}

/// What a fact adds to the place of its finding, which is shown above it. May be empty.
std::string besides(const Place& where, std::string fact)
{
    const std::string file = where.file();
    if (fact == file || (where.param() != nullptr && fact == where.param()->name))
        return {};
    // An error names the path of the file.
    const size_t name = file.empty() ? std::string::npos : fact.rfind('/' + file);
    const size_t path = name == std::string::npos ? name : fact.rfind(": ", name);
    if (path != std::string::npos)
        fact.erase(path, name + 1 + file.size() - path);
    return fact;
}

} // namespace

FindingDetails::FindingDetails(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_text(new QTextBrowser(this))
    , m_command(new CommandLine(theme, u"findingCommand"_s, this))
    , m_tick(new QCheckBox(tr("&Repair on a copy"), this))
    , m_whyNot(new QLabel(this))
{
    setObjectName(u"findingDetails"_s);
    m_text->setObjectName(u"findingText"_s);
    m_text->setAccessibleName(tr("What the finding means"));
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setOpenLinks(false); // most lead to places in the window
    m_text->document()->setDocumentMargin(12);
    m_tick->setObjectName(u"findingTick"_s);
    m_tick->setToolTip(
        tr("Add its repair to the change set below. Files are written only when you apply it, and only "
           "to a copy."));
    m_whyNot->setObjectName(u"findingWhyNot"_s);
    m_whyNot->setWordWrap(true);
    m_whyNot->setTextFormat(Qt::PlainText);
    m_whyNot->hide();
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(12, 6, 12, 8);
    foot->addWidget(m_tick);
    foot->addWidget(m_whyNot);
    foot->addWidget(m_command);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_text, 1);
    rows->addLayout(foot);
    handFocusTo(this, m_text);
    connect(m_text, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
        if (url.scheme() == "https"_L1) { // a thread of GitHub
            QDesktopServices::openUrl(url);
            return;
        }
        bool isNumber = false;
        const size_t at = url.path().toULongLong(&isNumber);
        if (isNumber && at < m_ways.size())
            Q_EMIT wayChosen(FindingWay(m_ways[at])); // a copy: going there may show another finding
    });
    connect(m_tick, &QCheckBox::toggled, this, [this](bool on) {
        if (!m_code.empty())
            Q_EMIT tickChanged(m_code, on);
    });
    connect(&theme, &Theme::changed, this, [this] {
        std::vector<const DoctorFinding*> again;
        const std::vector<DoctorFinding> kept = m_shown;
        for (const DoctorFinding& made : kept)
            again.push_back(&made);
        show(again, m_checkpoint);
    });
    show({}, nullptr);
}

/// A splitter asks for no height at a width.
QSize FindingDetails::minimumSizeHint() const
{
    return withWrappedLines(*this);
}

void FindingDetails::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    if (event->size().width() != event->oldSize().width())
        updateGeometry(); // the lines are others
}

void FindingDetails::setTicked(bool ticked)
{
    const QSignalBlocker quiet(m_tick);
    m_tick->setChecked(ticked);
}

void FindingDetails::setOutlook(const RepairOutlook& outlook)
{
    m_whyNot->setText(outlook.whyNot.isEmpty() ? QString()
            : outlook.otherSettingsMayDo       ? tr("Not with the default settings: %1").arg(outlook.whyNot)
                                               : tr("Repair refused: %1").arg(outlook.whyNot));
    showFoot();
}

void FindingDetails::showFoot()
{
    const bool mayFail = !m_whyNot->text().isEmpty();
    m_whyNot->setVisible(mayFail && !m_tick->isHidden());
    m_command->setVisible(!mayFail && !m_shown.empty() && !m_shown.front().command.empty());
}

QString FindingDetails::headOf(const DoctorFinding& made) const
{
    const Finding& finding = made.finding;
    const Diagnosis& diagnosis = *made.diagnosis;
    const ThemeRole role = finding.severity == Severity::Error ? ThemeRole::Error
        : finding.severity == Severity::Warning                ? ThemeRole::Warning
                                                               : ThemeRole::Info;
    const QString mark = finding.severity == Severity::Error ? u"■"_s
        : finding.severity == Severity::Warning              ? u"▲"_s
                                                             : u"●"_s;
    QString html = u"<h3 style=\"margin-bottom:2px\">"_s
        % sentence(diagnosis.code == finding.code ? diagnosis.name : finding.code)
        % u"</h3><p style=\"margin-top:0\"><span style=\"color:"_s % m_theme.colour(role).name() % u"\">"_s
        % mark % u' ' % severityText(finding.severity).toHtmlEscaped() % u"</span> · <code>"_s
        % escaped(finding.code) % u"</code>"_s;
    if (!diagnosis.letter.empty())
        html += u" · "_s % escaped(diagnosis.letter);
    html += u" · "_s % tr("found in %1").arg(toText(checkDepthName(made.seenIn))) % u"</p>"_s;
    if (diagnosis.silent && finding.severity == Severity::Error)
        html += u"<p><b>"_s % tr("Stock DeepSpeed loads this silently.") % u"</b></p>"_s;
    return html;
}

QString FindingDetails::linksTo(const Place& where, const Checkpoint* checkpoint)
{
    QStringList links;
    if (checkpoint != nullptr)
        for (FindingWay& way : waysTo(*checkpoint, where)) {
            links.append(u"<a href=\"%1\" style=\"color:%2\">%3</a>"_s.arg(m_ways.size())
                             .arg(m_theme.colour(ThemeRole::Accent).name(), way.label.toHtmlEscaped()));
            m_ways.push_back(std::move(way));
        }
    return links.join(u" · "_s);
}

QString FindingDetails::findingText(const FindingGroup& alike, const Checkpoint* checkpoint)
{
    const Finding& finding = alike.first();
    QString html = u"<li>"_s % alike.message.toHtmlEscaped();
    const auto addPlace = [&](const Place& where) {
        const QString links = linksTo(where, checkpoint);
        html += u"<br><code>"_s % placeText(where).toHtmlEscaped() % u"</code>"_s;
        if (!links.isEmpty())
            html += u" → "_s % links;
    };
    if (!finding.where.isEmpty())
        addPlace(finding.where);
    std::set<std::string> shown{finding.where.text()}; // each once
    for (const Finding* each : alike.findings) {
        for (const std::string& evidence : each->evidence) {
            const std::string fact = besides(finding.where, evidence);
            const Place named = placeNamed(*each, fact);
            if (fact.empty() || !shown.insert(named.text()).second)
                continue;
            if (checkpoint != nullptr && !waysTo(*checkpoint, named).empty())
                addPlace(named);
            else
                html += u"<br>"_s % factText(fact).toHtmlEscaped();
        }
        for (size_t i = 0; i < each->parts.size() && shown.size() < kMaxShown; ++i) {
            if (shown.insert(each->parts[i].text()).second)
                addPlace(each->parts[i]);
        }
    }
    return html % u"</li>"_s;
}

/// The findings, those that are alike as one.
QString FindingDetails::listText(const Checkpoint* checkpoint)
{
    std::vector<const Finding*> findings;
    for (size_t i = 0; i < m_shown.size() && i < kMaxShown; ++i)
        findings.push_back(&m_shown[i].finding);
    QString html;
    for (const FindingGroup& alike : groupFindings(findings, AlikeIn::One))
        html += findingText(alike, checkpoint);
    if (m_shown.size() > kMaxShown)
        html += u"<li>"_s % tr("and %1 more, in the list").arg(countText(m_shown.size() - kMaxShown))
            % u"</li>"_s;
    return html;
}

void FindingDetails::show(const std::vector<const DoctorFinding*>& findings, const CheckpointPtr& checkpoint)
{
    std::vector<DoctorFinding> kept;
    for (const DoctorFinding* made : findings)
        kept.push_back(*made);
    m_shown = std::move(kept);
    m_checkpoint = checkpoint;
    m_ways.clear();
    m_code = m_shown.empty() ? std::string() : std::string(m_shown.front().finding.code);
    m_tick->setVisible(std::any_of(m_shown.begin(), m_shown.end(),
        [](const DoctorFinding& made) { return repairs(*made.diagnosis, made.finding); }));
    showFoot();
    if (m_shown.empty()) {
        m_text->setHtml(u"<p>"_s % tr("Select a finding to read what it means.") % u"</p>"_s);
        return;
    }
    const DoctorFinding& first = m_shown.front();
    const Diagnosis& diagnosis = *first.diagnosis;
    QString html = headOf(first) % u"<ul style=\"margin-left:-22px\">"_s;
    html += listText(checkpoint.get());
    Meanings means;
    means.add(tr("Loading"), sentence(diagnosis.means.loading));
    means.add(tr("Resuming"), sentence(diagnosis.means.resuming));
    means.add(tr("Exporting"), sentence(diagnosis.means.exporting));
    if (diagnosis.remedy.empty())
        means.add(tr("No remedy"), withFullStop(diagnosis.noRemedy));
    else
        means.add(tr("Remedy"), withFullStop(diagnosis.remedy));
    means.add(tr("Upstream"), threadLinks(diagnosis.threads, m_theme.colour(ThemeRole::Accent).name()));
    html += u"</ul>"_s % means.table(m_text->font());
    m_text->setHtml(html);
    m_command->setCommand(u"shardscope "_s % QString::fromStdString(first.command));
}

} // namespace shardscope::ui
