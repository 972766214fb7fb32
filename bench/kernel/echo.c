/* An echo for DNS packets in several variants, to compare their kernel time. It has no code of Rhumb.
 *
 *     echo PORT BATCH [single] [segments] [busy] [buffers] [spin] [poll] [block]
 *
 * single    recvfrom and sendto, one datagram each; otherwise recvmmsg and sendmmsg, at most BATCH
 * segments  replies of one length to one client are sent in one call (UDP_SEGMENT)
 * busy      SO_BUSY_POLL, 50 us
 * buffers   4 MiB for receiving and for sending
 * spin      never waits
 * poll      waits in poll, which leaves no callback on the socket between two waits; otherwise in epoll_wait
 * block     waits in recvmmsg itself
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { MOST = 256, OCTETS = 2048, MOST_SEGMENTS = 60 };

static unsigned char packets[MOST][OCTETS];
static struct iovec vectors[MOST];
static struct mmsghdr messages[MOST];
static struct sockaddr_in clients[MOST];
static bool single, segments, busy, buffers, spin, use_poll, block;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int open_socket(int port) {
    int fd = socket(AF_INET, SOCK_DGRAM | (block ? 0 : SOCK_NONBLOCK), 0);
    int microseconds = 50, octets = 4 << 20;
    if (fd < 0)
        fail("socket");
    if (busy && setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &microseconds, sizeof microseconds))
        fail("SO_BUSY_POLL");
    if (buffers && (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) ||
                    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &octets, sizeof octets)))
        fail("buffers of 4 MiB");
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)&here, sizeof here))
        fail("bind");
    return fd;
}

static int receive(int fd, int batch) {
    for (int i = 0; i < batch; i++) {
        vectors[i] = (struct iovec){packets[i], OCTETS};
        messages[i].msg_hdr = (struct msghdr){.msg_name = &clients[i], .msg_namelen = sizeof clients[i],
                                              .msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    int count = recvmmsg(fd, messages, batch, block ? MSG_WAITFORONE : 0, NULL);
    for (int i = 0; i < count; i++) {
        packets[i][2] |= 0x80;
        vectors[i].iov_len = messages[i].msg_len;
    }
    return count;
}

/* Gathers replies of equal length to the same client. */
static void send_segments(int fd, int count) {
    bool sent[MOST] = {false};
    for (int first = 0; first < count; first++) {
        if (sent[first])
            continue;
        struct iovec gathered[MOST_SEGMENTS];
        unsigned short length = messages[first].msg_len;
        int found = 0;
        for (int i = first; i < count && found < MOST_SEGMENTS; i++) {
            if (!sent[i] && messages[i].msg_len == length && clients[i].sin_port == clients[first].sin_port) {
                gathered[found++] = vectors[i];
                sent[i] = true;
            }
        }
        char control[CMSG_SPACE(sizeof length)] = {0};
        struct msghdr header = {.msg_name = &clients[first], .msg_namelen = sizeof clients[first],
                                .msg_iov = gathered, .msg_iovlen = found};
        if (found > 1) {
            header.msg_control = control;
            header.msg_controllen = sizeof control;
            struct cmsghdr *option = CMSG_FIRSTHDR(&header);
            option->cmsg_level = SOL_UDP;
            option->cmsg_type = UDP_SEGMENT;
            option->cmsg_len = CMSG_LEN(sizeof length);
            memcpy(CMSG_DATA(option), &length, sizeof length);
        }
        sendmsg(fd, &header, 0);
    }
}

static bool echo_one(int fd) {
    socklen_t length = sizeof clients[0];
    ssize_t octets = recvfrom(fd, packets[0], OCTETS, 0, (struct sockaddr *)&clients[0], &length);
    if (octets < 0)
        return false;
    packets[0][2] |= 0x80;
    sendto(fd, packets[0], octets, 0, (struct sockaddr *)&clients[0], length);
    return true;
}

/* Whether there may be more. */
static bool echo_batch(int fd, int batch) {
    int count = receive(fd, batch);
    if (count <= 0)
        return false;
    if (segments)
        send_segments(fd, count);
    else
        sendmmsg(fd, messages, count, 0);
    return count == batch && !block;
}

int main(int count, char **words) {
    int batch = count > 2 ? atoi(words[2]) : 0;
    if (batch < 1 || batch > MOST) {
        fprintf(stderr, "usage: echo PORT BATCH [single|segments|busy|buffers|spin|poll|block]...\n");
        return 2;
    }
    for (int i = 3; i < count; i++) {
        single |= !strcmp(words[i], "single");
        segments |= !strcmp(words[i], "segments");
        busy |= !strcmp(words[i], "busy");
        buffers |= !strcmp(words[i], "buffers");
        spin |= !strcmp(words[i], "spin");
        use_poll |= !strcmp(words[i], "poll");
        block |= !strcmp(words[i], "block");
    }
    int fd = open_socket(atoi(words[1]));
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (!use_poll && !block && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
        fail("epoll_ctl");
    /* A worker waits for more than its socket: hence the epoll. */
    struct pollfd awaited[] = {{fd, POLLIN, 0}, {epoll, POLLIN, 0}};
    for (;;) {
        if (use_poll)
            poll(awaited, 2, -1);
        else if (!spin && !block)
            epoll_wait(epoll, &event, 1, -1);
        while (single ? echo_one(fd) : echo_batch(fd, batch))
            ;
    }
}
