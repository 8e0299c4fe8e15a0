#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""wire.py CAPTURE PORT - the NFSv3 calls and replies of a capture, as lines

    TIME call XID PROCEDURE stable=N uid=N gids=N,N,... bytes=N
    TIME reply XID PROCEDURE committed=N status=N verifier=HEX

tshark takes the packets apart; a packet may hold several messages, and even on
loopback segments come out of order.
"""
import subprocess
import sys
import xml.etree.ElementTree as tree

NAMES = {0: "NULL", 1: "GETATTR", 2: "SETATTR", 3: "LOOKUP", 4: "ACCESS",
         6: "READ", 7: "WRITE", 8: "CREATE", 19: "FSINFO", 20: "PATHCONF",
         21: "COMMIT"}


def field(proto, name):
    for f in proto.iter("field"):
        if f.get("name") == name:
            return f.get("show")
    return None


def fields(proto, name):
    return [f.get("show") for f in proto.iter("field")
            if f.get("name") == name]


def message(time, rpc, nfs):
    procedure = int(field(rpc, "rpc.procedure") or
                    field(nfs, "nfs.procedure_v3") or 0)
    name = NAMES.get(procedure, str(procedure))
    out = [time, "call", field(rpc, "rpc.xid"), name]
    if field(rpc, "rpc.msgtyp") == "0":
        gids = []
        for g in fields(rpc, "rpc.auth.gid"):
            if g not in gids:
                gids.append(g)
        out += ["stable=%s" % field(nfs, "nfs.write.stable"),
                "uid=%s" % field(rpc, "rpc.auth.uid"),
                "gids=%s" % ",".join(gids),
                "bytes=%s" % field(nfs, "nfs.count3")]
    else:
        out[1] = "reply"
        out += ["committed=%s" % field(nfs, "nfs.write.committed"),
                "status=%s" % field(nfs, "nfs.status3"),
                "verifier=%s" % field(nfs, "nfs.verifier")]
    print(*out)


def main(capture, port):
    tshark = subprocess.Popen(
        ["tshark", "-r", capture, "-d", "tcp.port==%s,rpc" % port,
         "-o", "tcp.reassemble_out_of_order:TRUE", "-T", "pdml", "-J", "frame rpc nfs"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    for _, packet in tree.iterparse(tshark.stdout):
        if packet.tag != "packet":
            continue
        time, rpc = None, None
        for proto in packet.findall("proto"):
            if proto.get("name") == "frame":
                time = field(proto, "frame.time_epoch")
            elif proto.get("name") == "rpc":
                rpc = proto
            elif proto.get("name") == "nfs" and rpc is not None:
                message(time, rpc, proto)
                rpc = None
        packet.clear()


main(*sys.argv[1:])
