// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/far/far_host.h"
#include "ui/jobs/latest_only.h"
#include "ui/widgets/message_bar.h"

#include <QTimer>

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
    void look();
    void act();
    void reconnect();

    std::vector<std::string> m_hosts;
    QTimer m_timer;
    LatestOnly m_worker{WorkLength::Short};
    std::string m_shown; ///< host and state that are said; empty: none
    std::string m_dismissed; ///< the user does not want to read these
};

} // namespace shardscope::ui
