// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/host_bar.h"

#include <QDir>
#include <QFile>

#include <csignal>

namespace shardscope::ui {

using namespace Qt::StringLiterals;

inline io::FileSystem& allFiles()
{
    static SkeletonFiles files(far::farAndOwnFiles());
    return files;
}

/// A window that reaches other hosts; every name is one, as one connection belongs to a name.
class FarWindow : public WindowFixture
{
public:
    FarWindow()
        : WindowFixture(ThemeMode::Light, allFiles())
    {
        const QString script = m_host.filePath(u"ssh"_s);
        writeScript(script,
            u"#!/bin/sh\n[ -e '%1/down' ] && { echo 'ssh: no route to host' >&2; exit 255; }\n"
            "[ -e '%1/asks' ] && . '%1/asks'\n"
            "echo $$ >> '%1/lines'\n[ \"$1\" = absent ] && exit 255\n"
            "exec env -i HOME='%1/home' PATH='%1/bin:/usr/bin:/bin' sh -c \"$2\"\n"_s);
        QDir(m_host.path()).mkpath(u"home/runs"_s);
        QDir(m_host.path()).mkpath(u"bin"_s);
        QFile::link(QString::fromStdString(programPath()), m_host.filePath(u"bin/shardscope"_s));
        copiedSample("zero3-w4", m_host.filePath(u"home/runs/llama"_s));
        qputenv("SHARDSCOPE_SSH", script.toUtf8());
    }
    ~FarWindow()
    {
        signalLines(SIGCONT);
        qunsetenv("SSH_ASKPASS");
    }

    /// Times that ssh was started.
    [[nodiscard]] int connections() const
    {
        QFile lines(m_host.filePath(u"lines"_s));
        return lines.open(QIODevice::ReadOnly) ? static_cast<int>(lines.readAll().count('\n')) : 0;
    }
    [[nodiscard]] QString home() const { return m_host.filePath(u"home"_s); }
    void setDown(bool isDown)
    {
        const QString mark = m_host.filePath(u"down"_s);
        if (isDown)
            (void)QFile(mark).open(QIODevice::WriteOnly);
        else
            QFile::remove(mark);
    }
    /// From now on ssh asks this with another program, and goes on where the answers are "yes".
    void setAsking(const QStringList& questions = {u"Password of $1:"_s})
    {
        const QString program = m_host.filePath(u"ask"_s);
        writeScript(program,
            u"#!/bin/sh\nfor i in $(seq 1200); do mv '%1/answer' '%1/given' 2>/dev/null && exec cat "
            u"'%1/given'\n"
            "sleep 0.05; done\n"_s);
        QString asks;
        for (const QString& question : questions)
            asks += u"\"$SSH_ASKPASS\" \""_s + question
                + u"\" > '%1/said'\n[ \"$(cat '%1/said')\" = yes ] || "
                  "{ echo 'Permission denied' >&2; exit 255; }\n"_s;
        writeScript(m_host.filePath(u"asks"_s), asks);
        qputenv("SSH_ASKPASS", program.toUtf8());
    }
    /// From now on ssh asks on a terminal, which is its own.
    void setAskingOnTerminal()
    {
        writeScript(m_host.filePath(u"terminal.py"_s),
            u"import fcntl, os, sys, termios, time\n"
            "os.setsid()\n"
            "person, terminal = os.openpty()\n"
            "fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)\n"
            "asking = os.open('/dev/tty', os.O_RDWR)\n"
            "while not os.path.exists('%1/answer'): time.sleep(0.05)\n"
            "os.close(asking)\n"
            "os.remove('%1/asks')\n"
            "os.set_inheritable(person, True)\n"
            "os.execv('%1/ssh', ['ssh'] + sys.argv[1:])\n"_s);
        writeScript(m_host.filePath(u"asks"_s), u"exec /usr/bin/python3 '%1/terminal.py' \"$@\"\n"_s);
        qputenv("SSH_ASKPASS", "/none"); // somebody can be asked
    }
    void answer(const QByteArray& word)
    {
        QFile file(m_host.filePath(u"written"_s));
        (void)file.open(QIODevice::WriteOnly);
        file.write(word);
        file.close();
        file.rename(m_host.filePath(u"answer"_s));
    }
    /// To every process that stands for ssh.
    void signalLines(int signal)
    {
        QFile file(m_host.filePath(u"lines"_s));
        if (!file.open(QIODevice::ReadOnly))
            return;
        while (!file.atEnd())
            ::kill(file.readLine().trimmed().toInt(), signal);
    }
    [[nodiscard]] HostBar& bar() { return *find<HostBar>("hostBar"); }

private:
    /// With the folder of the host in place of %1.
    void writeScript(const QString& path, const QString& text) const
    {
        QFile file(path);
        (void)file.open(QIODevice::WriteOnly);
        file.write(QString(text).replace(u"%1"_s, m_host.path()).toUtf8());
        file.close();
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }

    QTemporaryDir m_host;
};

} // namespace shardscope::ui
