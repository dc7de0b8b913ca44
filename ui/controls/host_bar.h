// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/far/far_host.h"
#include "ui/jobs/latest_only.h"
#include "ui/widgets/message_bar.h"

#include <QTimer>

#include <optional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// Says how the connections to other hosts are, while somebody waits for one or one is lost; else hidden.
class HostBar : public MessageBar
{
    Q_OBJECT
public:
    explicit HostBar(Theme& theme, QWidget* parent = nullptr);

    /// The paths whose hosts matter; those of this machine are left out.
    void watch(const std::vector<io::Path>& paths);

Q_SIGNALS:
    /// To the hosts that were lost: the next question connects.
    void reconnecting(const QStringList& hosts);

private:
    /// The message of the bar: its host, and its reason.
    struct Subject {
        std::string host;
        far::FarCondition::State state;
        std::string asks;
        bool operator==(const Subject&) const = default;
    };
    struct Words;

    static Words wordsFor(const std::string& host);
    void look();
    void act();
    void reconnect();

    std::vector<std::string> m_hosts;
    QTimer m_timer;
    LatestOnly m_worker{WorkLength::Short};
    std::optional<Subject> m_shown;
    std::optional<Subject> m_dismissed; ///< the user does not want to read this
};

} // namespace shardscope::ui
