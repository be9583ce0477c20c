<?php
// SPDX-License-Identifier: BSD-3-Clause
// php-memcached (libmemcached) and php-memcache behind the language of ../README.md.
//     php client.php memcached-text|memcached-binary|memcache HOST PORT
error_reporting(0);
ini_set('memory_limit', '256M');
[, $name, $host, $port] = $argv;

class Extension
{
    public $can = 'set get add replace append prepend cas incr decr touch delete multi flush';
    private $client, $tokens = [];

    public function __construct($host, $port, $binary)
    {
        $this->client = new Memcached();
        $this->client->setOptions([Memcached::OPT_BINARY_PROTOCOL => $binary, Memcached::OPT_COMPRESSION => false,
            Memcached::OPT_TCP_NODELAY => true, Memcached::OPT_RETRY_TIMEOUT => 1]);
        $this->client->addServer($host, $port);
    }

    private function need($result)
    {
        $known = [Memcached::RES_SUCCESS, Memcached::RES_NOTSTORED, Memcached::RES_NOTFOUND,
            Memcached::RES_DATA_EXISTS];
        if (!in_array($this->client->getResultCode(), $known)) {
            throw new Exception($this->client->getResultMessage());
        }
        return $result;
    }

    public function store($verb, $key, $ttl, $value)
    {
        $result = match ($verb) {
            'append', 'prepend' => $this->client->$verb($key, $value),
            'cas' => $this->client->cas($this->tokens[$key], $key, $value, $ttl),
            default => $this->client->$verb($key, $value, $ttl),
        };
        return $this->need($result);
    }

    public function get($key)
    {
        $value = $this->need($this->client->get($key));
        return $this->client->getResultCode() == Memcached::RES_SUCCESS ? $value : null;
    }

    public function gets($key)
    {
        $found = $this->need($this->client->get($key, null, Memcached::GET_EXTENDED));
        $this->tokens[$key] = $found['cas'];
        return $found['value'];
    }

    public function count($verb, $key, $by)
    {
        // In binary a miss would be made 0.
        $number = $this->get($key) === null ? false : $this->client->{$verb . 'ement'}($key, $by);
        return $number === false ? null : $number;
    }

    public function touch($key, $ttl)
    {
        return $this->need($this->client->touch($key, $ttl));
    }

    public function delete($key)
    {
        return $this->need($this->client->delete($key));
    }

    public function multi($keys)
    {
        return $this->need($this->client->getMulti($keys));
    }

    public function flush()
    {
        return $this->need($this->client->flush());
    }
}

class OldExtension
{
    public $can = 'set get add replace append prepend cas incr decr delete multi flush';
    private $client, $tokens = [];

    public function __construct($host, $port)
    {
        $this->client = new Memcache();
        $this->client->addServer($host, $port, false, 1, 20, 1);
    }

    public function store($verb, $key, $ttl, $value)
    {
        if ($verb == 'cas') {
            return $this->client->cas($key, $value, 0, $ttl, $this->tokens[$key]);
        }
        return $this->client->$verb($key, $value, 0, $ttl);
    }

    public function get($key)
    {
        $value = $this->client->get($key);
        return $value === false ? null : $value;
    }

    public function gets($key)
    {
        $flags = 0;
        $cas = 0;
        $value = $this->client->get($key, $flags, $cas);
        $this->tokens[$key] = $cas;
        return $value === false ? null : $value;
    }

    public function count($verb, $key, $by)
    {
        $number = $this->client->{$verb . 'ement'}($key, $by);
        return is_int($number) ? $number : null;
    }

    public function delete($key)
    {
        return $this->client->delete($key);
    }

    public function multi($keys)
    {
        return $this->client->get($keys);
    }

    public function flush()
    {
        return $this->client->flush();
    }
}

function open($name, $host, $port)
{
    return $name == 'memcache' ? new OldExtension($host, (int)$port)
        : new Extension($host, (int)$port, $name == 'memcached-binary');
}

function value_reply($value)
{
    return $value === null ? 'none' : 'value ' . base64_encode($value);
}

function obey($client, $verb, $words)
{
    switch ($verb) {
        case 'get':
        case 'gets':
            return value_reply($client->$verb($words[0]));
        case 'incr':
        case 'decr':
            $number = $client->count($verb, $words[0], (int)$words[1]);
            return $number === null ? 'none' : "number $number";
        case 'multi':
            $found = [];
            foreach ($client->multi($words) as $key => $value) {
                $found[] = $key . '=' . base64_encode($value);
            }
            return 'values ' . implode(' ', $found);
        case 'touch':
            return $client->touch($words[0], (int)$words[1]) ? 'yes' : 'no';
        case 'delete':
        case 'flush':
            return $client->$verb(...$words) ? 'yes' : 'no';
        default:
            return $client->store($verb, $words[0], (int)$words[1], base64_decode($words[2] ?? '')) ? 'yes' : 'no';
    }
}

$client = open($name, $host, $port);
echo "ready $client->can\n";
while (($line = fgets(STDIN)) !== false) {
    $words = explode(' ', trim($line));
    $verb = array_shift($words);
    try {
        if ($verb == 'open') {
            $client = open($name, $host, $port);
            echo "yes\n";
        } else {
            echo obey($client, $verb, $words), "\n";
        }
    } catch (Throwable $error) {
        echo 'error ', str_replace("\n", ' ', $error->getMessage()), "\n";
    }
}
