// The baseline of benches/simulator: the same three workloads on SimGrid's S4U interface, link contention on.
//
//   baseline_simgrid WORKLOAD RANKS COUNT     prints one line of JSON: messages, processor seconds, virtual seconds
//
// Workloads: ping-pong (2 hosts, COUNT round trips), all-to-all (RANKS hosts on a square torus, rank r to r+s in step s,
// COUNT steps), ring (RANKS hosts on a square torus, COUNT turns).
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

static const double kBytes = 1000;
static std::vector<sg4::Mailbox*> mailboxes;

static void send(int to) {
  static int payload = 0;
  mailboxes[to]->put(&payload, kBytes);
}

static void receive(int me) { mailboxes[me]->get<int>(); }

static void pingpong(int me, int, int count) {
  for (int i = 0; i < count; i++) {
    if (me == 0) { send(1); receive(0); } else { receive(1); send(0); }
  }
}

static void exchange(int me, int to) {
  static int payload = 0;
  auto sent = mailboxes[to]->put_async(&payload, kBytes);
  receive(me);
  sent->wait();
}

static void alltoall(int me, int ranks, int count) {
  for (int step = 1; step <= count; step++) exchange(me, (me + step) % ranks);
}

static void ring(int me, int ranks, int count) {
  for (int i = 0; i < count; i++) exchange(me, (me + 1) % ranks);
}

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc != 4) {
    std::fprintf(stderr, "usage: baseline_simgrid ping-pong|all-to-all|ring RANKS COUNT\n");
    return 2;
  }
  const std::string workload = argv[1];
  const int ranks = std::atoi(argv[2]), count = std::atoi(argv[3]);
  unsigned long side = 2;
  while (side * side < (unsigned long)ranks) side++;
  const std::vector<unsigned long> extents = {side, side, 1};

  auto host = [](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    auto* created = zone->create_host("node-" + std::to_string(id), 1e9)->seal();
    return std::make_pair(created->get_netpoint(), (simgrid::kernel::routing::NetPoint*)nullptr);
  };
  sg4::ClusterCallbacks callbacks(host);
  auto* zone = sg4::create_torus_zone("torus", nullptr, extents, callbacks, 50e9, 1e-7, sg4::Link::SharingPolicy::SPLITDUPLEX);
  zone->seal();

  for (int rank = 0; rank < ranks; rank++) mailboxes.push_back(sg4::Mailbox::by_name("rank-" + std::to_string(rank)));
  auto program = workload == "ping-pong" ? pingpong : workload == "all-to-all" ? alltoall : ring;
  for (int rank = 0; rank < ranks; rank++) {
    sg4::Actor::create("rank-" + std::to_string(rank), engine.host_by_name("node-" + std::to_string(rank)),
                       [=] { program(rank, ranks, count); });
  }
  const std::clock_t start = std::clock();
  engine.run();
  const double cpu = (double)(std::clock() - start) / CLOCKS_PER_SEC;
  const double messages = (double)ranks * count;
  std::printf("{\"messages\": %.0f, \"cpu_seconds\": %.6f, \"virtual_seconds\": %.9f}\n", messages, cpu, sg4::Engine::get_clock());
  return 0;
}
