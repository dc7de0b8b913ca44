// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/host_bar.h"

#include "core/far/far_path.h"
#include "ui/text/text.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

using std::chrono::milliseconds;
using State = far::FarCondition::State;

constexpr int kPauseMs = 500;
constexpr milliseconds kConnecting{1500}; ///< sooner, a message would only flicker
constexpr milliseconds kSilent{7000}; ///< the other end says every 5 s that it is there

} // namespace

struct HostBar::Words {
    Severity severity = Severity::Info;
    QString text = {}; ///< empty: nothing needs to be said
    QStringList actions = {};
    std::optional<Subject> about = {};
};

HostBar::Words HostBar::wordsFor(const std::string& name)
{
    const far::FarCondition now = far::farHost(name).condition();
    const QString host = toText(name);
    const Subject about{name, now.state, now.asks};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.silent).count();
    switch (now.state) {
    case State::Unused:
        break;
    case State::Connecting:
        if (!now.asks.empty())
            return {Severity::Warning, HostBar::tr("%1 waits for you: %2").arg(host, toText(now.asks)),
                {HostBar::tr("Stop")}, about};
        if (!now.doing.empty())
            return {Severity::Info, HostBar::tr("%1: %2…").arg(host, toText(now.doing)),
                {HostBar::tr("Stop")}, about};
        if (now.silent >= kConnecting)
            return {Severity::Info, HostBar::tr("Connecting to %1 for %2 s…").arg(host).arg(seconds),
                {HostBar::tr("Stop")}, about};
        break;
    case State::Connected:
        if (now.silent >= kSilent)
            return {Severity::Warning,
                HostBar::tr("Nothing has arrived from %1 for %2 s.").arg(host).arg(seconds), {}, about};
        break;
    case State::Lost:
        return {Severity::Error,
            HostBar::tr("%1: %2. What was read stays shown.").arg(host, sentenceText(now.why)),
            {HostBar::tr("Reconnect")}, about};
    }
    return {};
}

HostBar::HostBar(Theme& theme, QWidget* parent)
    : MessageBar(theme, parent)
{
    setObjectName(u"hostBar"_s);
    hide();
    m_timer.setInterval(kPauseMs);
    connect(&m_timer, &QTimer::timeout, this, &HostBar::look);
    connect(this, &MessageBar::actionTriggered, this, &HostBar::act);
}

void HostBar::watch(const std::vector<io::Path>& paths)
{
    m_hosts.clear();
    for (const io::Path& path : paths) {
        const auto far = far::farPathOf(path);
        if (far && std::ranges::find(m_hosts, far->host) == m_hosts.end())
            m_hosts.push_back(far->host);
    }
    if (m_hosts.empty())
        m_timer.stop();
    else if (!m_timer.isActive())
        m_timer.start();
    look();
}

/// The button of what is said: of a host that connects, or of those that are lost.
void HostBar::act()
{
    if (m_shown && far::farHost(m_shown->host).condition().state == m_shown->state) {
        if (m_shown->state == State::Lost)
            return reconnect();
        if (m_shown->state == State::Connecting)
            far::farHost(m_shown->host).stopConnecting();
    }
    look(); // what was pressed may be about a state that is over
}

void HostBar::reconnect()
{
    QStringList lost;
    std::vector<io::Path> paths;
    for (const std::string& host : m_hosts) {
        if (far::farHost(host).condition().state != State::Lost)
            continue;
        lost.append(QString::fromStdString(host));
        paths.push_back(far::farPath(host, "/"));
    }
    m_worker.run<QStringList>( // the end of the old connection may take seconds
        [lost, paths](const std::stop_token&, const std::function<void(QStringList)>& deliver) {
            far::connectAgainTo(paths);
            deliver(lost);
        },
        [this](const QStringList& hosts) { Q_EMIT reconnecting(hosts); });
}

void HostBar::look()
{
    if (m_shown && isHidden())
        m_dismissed = std::exchange(m_shown, {});
    Words worst;
    for (const std::string& host : m_hosts) {
        Words words = wordsFor(host);
        if (worst.text.isEmpty() || (!words.text.isEmpty() && words.severity > worst.severity))
            worst = std::move(words);
    }
    if (worst.about != m_dismissed)
        m_dismissed.reset();
    m_shown.reset();
    if (worst.text.isEmpty() || worst.about == m_dismissed)
        return hide();
    m_shown = worst.about;
    if (isHidden() || text() != worst.text)
        showMessage(worst.severity, worst.text, worst.actions);
}

} // namespace shardscope::ui
