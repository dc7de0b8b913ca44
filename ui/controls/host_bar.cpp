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

constexpr char kEndOfHost = ' '; ///< which no name of a host has
constexpr int kPauseMs = 500;
constexpr milliseconds kConnecting{1500}; ///< sooner, a message would only flicker
constexpr milliseconds kSilent{7000}; ///< the other end says every 5 s that it is there

struct Words {
    Severity severity = Severity::Info;
    QString text;
    QStringList actions = {};
    std::string about = {}; ///< host and state
};

/// Empty: nothing needs to be said.
Words wordsFor(const QString& host, const far::FarCondition& now)
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.silent).count();
    switch (now.state) {
    case State::Unused:
        break;
    case State::Connecting:
        if (!now.asks.empty())
            return {Severity::Warning, HostBar::tr("%1 waits for you: %2").arg(host, toText(now.asks)),
                {HostBar::tr("Stop")}};
        if (!now.doing.empty())
            return {
                Severity::Info, HostBar::tr("%1: %2…").arg(host, toText(now.doing)), {HostBar::tr("Stop")}};
        if (now.silent >= kConnecting)
            return {Severity::Info, HostBar::tr("Connecting to %1 for %2 s…").arg(host).arg(seconds),
                {HostBar::tr("Stop")}};
        break;
    case State::Connected:
        if (now.silent >= kSilent)
            return {Severity::Warning,
                HostBar::tr("Nothing has arrived from %1 for %2 s.").arg(host).arg(seconds)};
        break;
    case State::Lost:
        return {Severity::Error,
            HostBar::tr("%1: %2. What was read stays shown.").arg(host, sentenceText(now.why)),
            {HostBar::tr("Reconnect")}};
    }
    return {};
}

} // namespace

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
    const size_t end = m_shown.find(kEndOfHost);
    const std::string host = m_shown.substr(0, end);
    const State now = m_shown.empty() ? State::Unused : far::farHost(host).condition().state;
    const bool isAsShown = end != std::string::npos
        && m_shown.substr(end + 1).starts_with(std::to_string(static_cast<int>(now)));
    if (isAsShown && now == State::Lost)
        return reconnect();
    if (isAsShown && now == State::Connecting)
        far::farHost(host).stopConnecting();
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
    if (!m_shown.empty() && isHidden())
        m_dismissed = std::exchange(m_shown, {});
    Words worst;
    for (const std::string& host : m_hosts) {
        const far::FarCondition now = far::farHost(host).condition();
        Words words = wordsFor(toText(host), now);
        if (!words.text.isEmpty())
            words.about = host + kEndOfHost + std::to_string(static_cast<int>(now.state)) + now.asks;
        if (worst.text.isEmpty() || (!words.text.isEmpty() && words.severity > worst.severity))
            worst = std::move(words);
    }
    if (worst.about != m_dismissed)
        m_dismissed.clear();
    m_shown.clear();
    if (worst.text.isEmpty() || worst.about == m_dismissed)
        return hide();
    m_shown = worst.about;
    if (isHidden() || text() != worst.text)
        showMessage(worst.severity, worst.text, worst.actions);
}

} // namespace shardscope::ui
