// SPDX-License-Identifier: BSD-3-Clause

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.CachedData;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.transcoders.Transcoder;

/**
 * spymemcached behind the language of ../README.md.
 *
 *     java -cp spymemcached.jar Spymemcached.java text|binary HOST PORT
 */
public class Spymemcached {
    /** Values are bytes, whatever flags they have. */
    private static final class Bytes implements Transcoder<byte[]> {
        public boolean asyncDecode(CachedData data) {
            return false;
        }

        public CachedData encode(byte[] value) {
            return new CachedData(0, value, getMaxSize());
        }

        public byte[] decode(CachedData data) {
            return data.getData();
        }

        public int getMaxSize() {
            return CachedData.MAX_SIZE;
        }
    }

    private static final Bytes BYTES = new Bytes();
    private final boolean binary;
    private final InetSocketAddress server;
    private final Map<String, Long> tokens = new HashMap<>();
    private MemcachedClient client;

    private Spymemcached(boolean binary, InetSocketAddress server) throws Exception {
        this.binary = binary;
        this.server = server;
        open();
    }

    private void open() throws Exception {
        client = new MemcachedClient(new ConnectionFactoryBuilder()
                .setProtocol(binary ? ConnectionFactoryBuilder.Protocol.BINARY : ConnectionFactoryBuilder.Protocol.TEXT)
                .setOpTimeout(20_000).setMaxReconnectDelay(1).build(), List.of(server));
    }

    private static String flag(Future<Boolean> result) throws Exception {
        return result.get(20, TimeUnit.SECONDS) ? "yes" : "no";
    }

    private static String value(byte[] value) {
        return value == null ? "none" : "value " + Base64.getEncoder().encodeToString(value);
    }

    private String take(String key, CASValue<byte[]> found) {
        if (found == null || found.getValue() == null) {
            return "none";
        }
        tokens.put(key, found.getCas());
        return value(found.getValue());
    }

    private static String number(long number) {
        return number < 0 ? "none" : "number " + number;
    }

    private String multi(List<String> keys) {
        StringJoiner reply = new StringJoiner(" ", "values ", "");
        client.getBulk(keys, BYTES).forEach(
                (key, value) -> reply.add(key + "=" + Base64.getEncoder().encodeToString(value)));
        return reply.toString();
    }

    private String store(String verb, String key, int ttl, byte[] value) throws Exception {
        switch (verb) {
            case "set":
                return flag(client.set(key, ttl, value, BYTES));
            case "add":
                return flag(client.add(key, ttl, value, BYTES));
            case "replace":
                return flag(client.replace(key, ttl, value, BYTES));
            case "append":
                return flag(client.append(0, key, value, BYTES));
            case "prepend":
                return flag(client.prepend(0, key, value, BYTES));
            case "cas":
                return client.cas(key, tokens.get(key), ttl, value, BYTES) == CASResponse.OK ? "yes" : "no";
            default:
                throw new IllegalArgumentException("no such command: " + verb);
        }
    }

    private String obey(String verb, List<String> words) throws Exception {
        String key = words.isEmpty() ? null : words.get(0);
        switch (verb) {
            case "open":
                client.shutdown();
                open();
                return "yes";
            case "get":
                return value(client.get(key, BYTES));
            case "gets":
                return take(key, client.gets(key, BYTES));
            case "gat":
                return take(key, client.getAndTouch(key, Integer.parseInt(words.get(1)), BYTES));
            case "multi":
                return multi(words);
            case "incr":
                return number(client.incr(key, Integer.parseInt(words.get(1))));
            case "decr":
                return number(client.decr(key, Integer.parseInt(words.get(1))));
            case "touch":
                return flag(client.touch(key, Integer.parseInt(words.get(1))));
            case "delete":
                return flag(client.delete(key));
            case "flush":
                return flag(client.flush());
            default:
                return store(verb, key, Integer.parseInt(words.get(1)),
                        Base64.getDecoder().decode(words.size() > 2 ? words.get(2) : ""));
        }
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
        Logger.getLogger("net.spy").setLevel(Level.OFF);
        boolean binary = args[0].equals("binary");
        Spymemcached talk = new Spymemcached(binary, new InetSocketAddress(args[1], Integer.parseInt(args[2])));
        // touch and gat exist in its binary protocol only.
        System.out.println("ready set get add replace append prepend cas incr decr delete multi flush"
                + (binary ? " touch gat" : ""));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            List<String> words = Arrays.asList(line.trim().split(" "));
            String reply;
            try {
                reply = talk.obey(words.get(0), words.subList(1, words.size()));
            } catch (Exception error) {
                reply = "error " + error.toString().replaceAll("\\s+", " ");
            }
            System.out.println(reply);
        }
        System.exit(0);
    }
}
