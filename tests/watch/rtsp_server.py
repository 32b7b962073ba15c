#!/usr/bin/python3
"""A camera for tests: rtsp_server.py PORT serves rtsp://127.0.0.1:PORT/camera, a moving ball as MJPEG, until it is ended.

GStreamer's server, of Debian's packages gir1.2-gst-rtsp-server-1.0 and gstreamer1.0-plugins-good; exit code 77 without.
"""
import signal
import sys

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtspServer
except (ImportError, ValueError):
    print("skipped: GStreamer's RTSP server is not here")
    sys.exit(77)

PIPELINE = ("( videotestsrc is-live=true pattern=ball background-color=0xff707070 foreground-color=0xffff0000 "
            "! video/x-raw,format=I420,width=384,height=288,framerate=15/1 ! jpegenc ! rtpjpegpay name=pay0 )")


def main():
    Gst.init(None)
    if any(Gst.ElementFactory.find(name) is None for name in ("videotestsrc", "jpegenc", "rtpjpegpay")):
        print("skipped: GStreamer's plugins are not here")
        sys.exit(77)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(sys.argv[1])
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(PIPELINE)
    factory.set_shared(True)
    server.get_mount_points().add_factory("/camera", factory)
    if server.attach(None) == 0:
        sys.exit("the port is taken")
    print("ready", flush=True)
    loop = GLib.MainLoop()
    GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, loop.quit)
    loop.run()


main()
